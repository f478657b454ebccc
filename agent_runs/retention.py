"""How long runs are kept, and how long they may wait for a person (R18).

Ended runs go in chunks, each a transaction of its own that also holds what the purgers of
other packages do. What hangs on a run goes with it by cascade. Whoever locks some of
these rows in another order can be in a chunk's way; the chunk is tried again then.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.apps import apps
from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.db.models import Q
from django.db.models.deletion import Collector

from agent_runs import clock, lifecycle, registries, store, workers
from agent_runs.models import AgentRun, EndReason, RunState
from agent_runs.models.run import TERMINAL_STATES, WAITING_FOR_PEOPLE
from agent_runs.registries import PeriodicJob

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models import Model, QuerySet

logger = logging.getLogger(__name__)

CHUNK = 500
_TRIES = 5
_EXPIRED_AT_ONCE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class _Position:
    """Behind which run the next chunk begins."""

    ended_at: datetime | None  # never None: all of these have ended
    id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Purge:
    """What a purge is asked for. `only` narrows it, `dry_run` deletes nothing."""

    older_than: timedelta
    only: Q = field(default_factory=Q)
    dry_run: bool = False
    chunk: int = CHUNK


def retention() -> timedelta:
    return timedelta(days=settings.AGENT_RUNS_RETENTION_DAYS)


def purge(wanted: Purge) -> dict[str, int]:
    """Delete ended runs; return how many rows went, by their plural names.

    A dry run counts what would go, without what other packages only count by doing it.
    """
    before = clock.database_now() - wanted.older_than
    runs = _name_of(AgentRun)
    counts: Counter[str] = Counter({runs: 0})
    position: _Position | None = None
    while True:
        position, gone = _purge_chunk_again(wanted, before, position)
        if position is None:
            return {name: n for name, n in counts.items() if n or name == runs}
        counts.update(gone)
        # A sweep that purges for minutes is still a worker.
        workers.beat()


def _purge_chunk_again(
    wanted: Purge, before: datetime, position: _Position | None
) -> tuple[_Position | None, Counter[str]]:
    """`_purge_chunk`, once more after each conflict, up to a bound."""
    for tries_left in reversed(range(_TRIES)):
        try:
            return _purge_chunk(wanted, before, position)
        except OperationalError as error:
            if not tries_left or not store.is_conflict(error):
                raise
            logger.warning("a conflict: the chunk is purged again")
    raise AssertionError("the last try returns or raises")


def _purge_chunk(
    wanted: Purge, before: datetime, position: _Position | None
) -> tuple[_Position | None, Counter[str]]:
    """Where the next chunk begins, None after the last, and what went with this one."""
    with transaction.atomic():
        chunk = list(_next_chunk(wanted, before, position))
        if not chunk:
            return None, Counter()
        count = _count if wanted.dry_run else _delete
        gone = count([run_id for run_id, _ in chunk])
    last_id, last_ended_at = chunk[-1]
    return _Position(ended_at=last_ended_at, id=last_id), gone


def _next_chunk(
    wanted: Purge, before: datetime, position: _Position | None
) -> QuerySet[AgentRun, tuple[UUID, datetime | None]]:
    # The inner query joins; the outer one alone is locked.
    inner = AgentRun.objects.filter(wanted.only).values("id") if wanted.only else None
    runs = AgentRun.objects.filter(state__in=TERMINAL_STATES, ended_at__lt=before)
    runs = runs.order_by("ended_at", "id")
    if inner is not None:
        runs = runs.filter(id__in=inner)
    if position is not None:
        runs = runs.filter(
            Q(ended_at__gt=position.ended_at)
            | Q(ended_at=position.ended_at, id__gt=position.id)
        )
    if not wanted.dry_run and connection.features.has_select_for_update_skip_locked:
        # A purge at the same time takes other runs.
        runs = runs.select_for_update(skip_locked=True)
    return runs.values_list("id", "ended_at")[: wanted.chunk]


def _delete(run_ids: list[UUID]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for purger in registries.purgers:
        counts.update(purger(run_ids))
    _, by_label = AgentRun.objects.filter(id__in=run_ids).delete()
    for label, count in by_label.items():
        counts[_name_of(apps.get_model(label))] += count
    return counts


def _count(run_ids: list[UUID]) -> Counter[str]:
    collector = Collector(using="default")
    collector.collect(AgentRun.objects.filter(id__in=run_ids).only("id"))
    counts: Counter[str] = Counter()
    for model, rows in collector.data.items():
        counts[_name_of(model)] += len(rows)
    for fast in collector.fast_deletes:
        counts[_name_of(fast.model)] += fast.count()
    return counts


def _name_of(model: type[Model]) -> str:
    return str(model._meta.verbose_name_plural)


# --- Periodic jobs --------------------------------------------------------------------


def purge_old_runs() -> None:
    counts = purge(Purge(older_than=retention()))
    logger.info("purged", extra={"rows": counts})


def expire_waits() -> None:
    """Fail the runs that nobody answered for too long, oldest first."""
    now = clock.database_now()
    longest = timedelta(days=settings.AGENT_RUNS_MAX_WAIT_DAYS)
    waiting = AgentRun.objects.filter(
        state__in=WAITING_FOR_PEOPLE, state_changed_at__lt=now - longest
    ).order_by("state_changed_at")
    for run_id in list(waiting.values_list("id", flat=True)[:_EXPIRED_AT_ONCE]):
        with transaction.atomic():
            # Somebody may have answered since, and the run may wait for something new.
            state = _locked_state(waiting, run_id)
            if state is not None:
                lifecycle.fail(
                    run_id, EndReason.WAIT_EXPIRED, now=now, expected=RunState(state)
                )


def _locked_state(runs: QuerySet[AgentRun], run_id: UUID) -> str | None:
    """None for a run that is none of these any more, and for one that is being moved."""
    may_skip = connection.features.has_select_for_update_skip_locked
    row = runs.filter(id=run_id).select_for_update(skip_locked=may_skip)
    return row.values_list("state", flat=True).first()


def register_jobs() -> None:
    registries.register_periodic_job(
        PeriodicJob(name="retention", interval=timedelta(days=1), run=purge_old_runs)
    )
    registries.register_periodic_job(
        PeriodicJob(
            name="expire-waits", interval=timedelta(minutes=10), run=expire_waits
        )
    )
