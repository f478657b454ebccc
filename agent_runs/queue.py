"""Putting runs in line, and finding those that were left lying (W5, R10, R11)."""

from __future__ import annotations

import logging
import uuid
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q

from agent_runs import clock, events, lifecycle, nudges, redaction
from agent_runs.contents import RunInput, dump_input
from agent_runs.encryption import field_of
from agent_runs.events import NewEvent
from agent_runs.models import (
    AgentRun,
    AnswerLevel,
    EndReason,
    LLMConfiguration,
    RunState,
    Workspace,
)
from agent_runs.models.run import EventKind
from agent_runs.statements import Insert, value
from agent_runs.store import STORE_AWAY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.contrib.auth.models import AbstractBaseUser

logger = logging.getLogger(__name__)

MAX_REQUEUES = 3
_FIRST_DELAY = timedelta(seconds=30)
_LONGEST_DELAY = timedelta(seconds=600)
_NUDGE_AGAIN_AFTER = timedelta(seconds=60)
_BATCH = 50


def retry_delay(
    requeues: int, *, limit: int = MAX_REQUEUES, at_least: timedelta = timedelta()
) -> timedelta | None:
    """How long to wait before the next try after `requeues` earlier ones; None: no more."""
    if requeues >= min(limit, MAX_REQUEUES):
        return None
    # min() first: a stored count may be large, a shift by it must not be.
    backoff = _FIRST_DELAY * (1 << min(requeues, 10))
    return min(max(backoff, at_least), _LONGEST_DELAY)


_INSERT: Final = Insert(
    AgentRun,
    "id",
    "owner_id",
    "starter_id",
    "handler",
    "configuration_id",
    "workspace_id",
    "tools",
    "answer_level",
    "request",
    "events_written",
    **{
        name: value(AgentRun, name, "now")
        for name in ("created_at", "due_at", "nudged_at", "state_changed_at")
    },
)


def enqueue(
    *,
    owner: AbstractBaseUser,
    handler: str,
    run_input: RunInput,
    configuration: LLMConfiguration | None = None,
    workspace: Workspace | None = None,
    tools: Sequence[str] = (),
    starter: AbstractBaseUser | None = None,
    now: datetime,
) -> UUID:
    """Insert a queued run inside the caller's transaction; nudge after its commit.

    `tools` are the names of those that it is given: it fails when one is taken away.
    """
    level = configuration.provider.answer_level if configuration else AnswerLevel.FULL
    run_id = uuid.uuid4()
    first = _first_events(run_input, level)
    _INSERT.execute(
        id=run_id,
        owner_id=owner.pk,
        starter_id=starter.pk if starter else None,
        handler=handler,
        configuration_id=configuration.pk if configuration else None,
        workspace_id=workspace.pk if workspace else None,
        tools=list(tools),
        answer_level=level,
        request=field_of(AgentRun, "request").seal(run_id, dump_input(run_input)),
        events_written=len(first),
        now=now,
    )
    for sequence, event in enumerate(first, 1):
        events.insert_as(sequence, run_id, event, now=now)
    nudges.nudge_on_commit(run_id)
    return run_id


def _first_events(run_input: RunInput, level: str) -> list[NewEvent]:
    request = _request_event(run_input, level)
    return [request, _context_event(run_input)] if run_input.earlier else [request]


def _context_event(run_input: RunInput) -> NewEvent:
    length = sum(len(turn.text) for turn in run_input.earlier)
    facts = {"earlier_messages": len(run_input.earlier), "text_length": length}
    return NewEvent(kind=EventKind.CONTEXT, facts=facts)


def _request_event(run_input: RunInput, level: str) -> NewEvent:
    facts = {"parts": len(run_input.parts), "text_length": len(run_input.text)}
    content = redaction.event_content(level, run_input.text)
    return NewEvent(kind=EventKind.REQUEST, facts=facts, content=content)


def due_runs(*, limit: int, now: datetime) -> list[UUID]:
    due = AgentRun.objects.filter(state=RunState.QUEUED, due_at__lte=now)
    return list(due.order_by("due_at", "id").values_list("id", flat=True)[:limit])


def nudge_again() -> None:
    """Repeat the nudges that seem lost, oldest first; without a broker do nothing."""
    if not nudges.is_configured():
        return
    now = clock.database_now()
    quiet = Q(nudged_at=None) | Q(nudged_at__lt=now - _NUDGE_AGAIN_AFTER)
    lost = AgentRun.objects.filter(quiet, state=RunState.QUEUED, due_at__lte=now)
    run_ids = list(lost.order_by("due_at", "id").values_list("id", flat=True)[:_BATCH])
    AgentRun.objects.filter(id__in=run_ids, state=RunState.QUEUED).update(nudged_at=now)
    for run_id in run_ids:
        nudges.nudge(run_id)


def reap() -> None:
    """Take runs from segments whose lease has run out, oldest first."""
    now = clock.database_now()
    expired = AgentRun.objects.filter(state=RunState.RUNNING, lease_expires_at__lt=now)
    columns = "id", "lease_owner", "requeues", "has_effects"
    has_checkpoint = Q(checkpoint__isnull=False)
    oldest = expired.order_by("lease_expires_at").only(*columns)[:_BATCH]
    for run in oldest.annotate(has_checkpoint=has_checkpoint):
        try:
            _reap_one(run, has_checkpoint=run.has_checkpoint, now=now)
        except STORE_AWAY:
            raise
        except Exception:
            # A row that cannot be moved must not keep the others from being rescued.
            logger.exception("run not reaped", extra={"run": str(run.id)})


def _reap_one(run: AgentRun, *, has_checkpoint: bool, now: datetime) -> None:
    lease = lifecycle.Lease(run_id=run.id, owner=run.lease_owner)
    reason = _why_not_again(run, has_checkpoint=has_checkpoint)
    with transaction.atomic():
        if not _lock(run.id):
            # Whoever has it moves it, or has stopped in the middle; others wait for us.
            return
        if reason is None:
            event = NewEvent(kind=EventKind.RETRY, facts={"cause": "lease expired"})
            won = lifecycle.requeue(
                lease, delay=timedelta(), now=now, event=event, expired_before=now
            )
        else:
            won = lifecycle.fail(
                run.id, reason, now=now, lease=lease, expired_before=now
            )
    if won and reason is None:
        nudges.nudge(run.id)
    if won:
        logger.warning(
            "lease expired", extra={"run": str(run.id), "outcome": reason or "queued"}
        )


def _lock(run_id: UUID) -> bool:
    """False when somebody else has the row; nobody waits for it."""
    row = AgentRun.objects.filter(id=run_id)
    if connection.features.has_select_for_update_skip_locked:
        row = row.select_for_update(skip_locked=True)
    return row.values_list("id", flat=True).first() is not None


def _why_not_again(run: AgentRun, *, has_checkpoint: bool) -> EndReason | None:
    if run.has_effects and not has_checkpoint:
        return EndReason.LEASE_LOST_AFTER_WRITE
    if run.requeues >= MAX_REQUEUES:
        return EndReason.RETRIES_EXHAUSTED
    return None
