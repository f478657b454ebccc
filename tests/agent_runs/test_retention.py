from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING

import psycopg
import pytest
from django.db import OperationalError, transaction
from django.db.models import Q

from agent_runs import clock, registries, retention, workers
from agent_runs.models import (
    AgentRun,
    AgentRunEvent,
    EndReason,
    RunState,
    WorkerHeartbeat,
)
from agent_runs.models.run import TERMINAL_STATES, EventKind
from agent_runs.models.worker import Transport
from agent_runs.retention import Purge
from agent_runs.signals import run_changed
from tests import factories
from tests.agent_runs import locking

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from uuid import UUID

    from pytest_django.fixtures import Settings

    from agent_runs.signals import RunChange

pytestmark = pytest.mark.django_db

MONTH = timedelta(days=30)


@pytest.fixture
def now() -> datetime:
    return clock.database_now()


@pytest.fixture(autouse=True)
def purged() -> Iterator[list[list[UUID]]]:
    """The chunks that a purger of another package is given; it stands alone here."""
    chunks: list[list[UUID]] = []
    before = registries.purgers[:]

    def purger(run_ids: Sequence[UUID]) -> dict[str, int]:
        assert AgentRun.objects.filter(id__in=run_ids).count() == len(run_ids)
        chunks.append(list(run_ids))
        return {"things": 2 * len(run_ids)}

    registries.purgers[:] = [purger]
    yield chunks
    registries.purgers[:] = before


def make_ended(now: datetime, age: timedelta, **values: object) -> AgentRun:
    state = values.pop("state", RunState.COMPLETED)
    return factories.make_run(str(state), now=now - age, **values)


def add_event(run: AgentRun) -> None:
    AgentRunEvent.objects.create(
        run=run, sequence=1, kind=EventKind.REQUEST, created_at=run.created_at
    )


@pytest.mark.parametrize("state", sorted(TERMINAL_STATES))
def test_what_ended_long_ago_goes(now: datetime, state: RunState) -> None:
    """R18: by the time it ended."""
    old = make_ended(now, MONTH + timedelta(minutes=1), state=state)
    young = make_ended(now, MONTH - timedelta(minutes=1), state=state)
    add_event(old)
    add_event(young)

    counts = retention.purge(Purge(older_than=MONTH))

    assert counts == {"runs": 1, "run events": 1, "things": 2}
    assert list(AgentRun.objects.all()) == [young]
    assert [event.run for event in AgentRunEvent.objects.all()] == [young]


@pytest.mark.parametrize("state", sorted(set(RunState) - TERMINAL_STATES))
def test_what_has_not_ended_stays(now: datetime, state: RunState) -> None:
    """R18: however old it is."""
    factories.make_run(state, now=now - 10 * MONTH)

    assert retention.purge(Purge(older_than=MONTH)) == {"runs": 0}
    assert AgentRun.objects.count() == 1


def test_a_task_goes_with_its_run(now: datetime) -> None:
    """R18: with their events, task, messages and artifacts."""
    factories.make_task("completed", now=now - 2 * MONTH)

    counts = retention.purge(Purge(older_than=MONTH))

    assert counts == {"runs": 1, "tasks": 1, "things": 2}


def test_works_in_chunks(now: datetime, purged: list[list[UUID]]) -> None:
    """R18: each chunk's purgers run with it; runs that ended together are not missed."""
    user = factories.make_user()
    runs = [make_ended(now, 2 * MONTH, owner=user) for _ in range(5)]

    counts = retention.purge(Purge(older_than=MONTH, chunk=2))

    assert counts == {"runs": 5, "things": 10}
    assert [len(chunk) for chunk in purged] == [2, 2, 1]
    assert {run_id for chunk in purged for run_id in chunk} == {r.id for r in runs}


def test_a_sweep_that_purges_for_long_goes_on_beating(now: datetime) -> None:
    """W1: a worker does not look dead because it is busy."""
    identity = workers.Identity(transport=Transport.SWEEP, queues=(), version="1")
    workers.announce(identity)
    WorkerHeartbeat.objects.update(last_seen_at=now - timedelta(hours=1))
    make_ended(now, 2 * MONTH)
    try:
        retention.purge(Purge(older_than=MONTH))

        assert workers.is_worker_available(clock.database_now())
    finally:
        workers.withdraw()


def test_a_purger_that_fails_keeps_its_chunk(now: datetime) -> None:
    """What the packages do together is one transaction."""
    run = make_ended(now, 2 * MONTH)

    def failing(run_ids: Sequence[UUID]) -> dict[str, int]:
        AgentRun.objects.filter(id__in=run_ids).update(truncated=True)
        raise RuntimeError("no")

    registries.register_purger(failing)

    with pytest.raises(RuntimeError):
        retention.purge(Purge(older_than=MONTH))
    run.refresh_from_db()
    assert not run.truncated


class Conflicts:
    """A purger that is a deadlock's victim a few times."""

    def __init__(self, times: int, cause: Exception) -> None:
        self.times = times
        self.cause = cause

    def __call__(self, run_ids: Sequence[UUID]) -> dict[str, int]:
        if self.times:
            self.times -= 1
            raise OperationalError from self.cause
        return {}


@pytest.mark.parametrize(
    "cause", [psycopg.errors.DeadlockDetected(), psycopg.errors.SerializationFailure()]
)
def test_a_chunk_that_met_a_conflict_is_purged_again(
    now: datetime, purged: list[list[UUID]], cause: Exception
) -> None:
    """R18: once, and counted once."""
    run = make_ended(now, 2 * MONTH)
    registries.register_purger(Conflicts(4, cause))

    counts = retention.purge(Purge(older_than=MONTH))

    assert counts == {"runs": 1, "things": 2}
    assert purged == 5 * [[run.id]]


@pytest.mark.parametrize(
    ("times", "cause"),
    [(5, psycopg.errors.DeadlockDetected()), (1, psycopg.errors.AdminShutdown())],
)
def test_a_purge_gives_up_in_the_end(
    now: datetime, times: int, cause: Exception
) -> None:
    make_ended(now, 2 * MONTH)
    registries.register_purger(Conflicts(times, cause))

    with pytest.raises(OperationalError):
        retention.purge(Purge(older_than=MONTH))

    assert AgentRun.objects.count() == 1


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
def test_a_purge_outlives_a_deadlock(now: datetime, postgresql: str) -> None:
    """R18: somebody has one of its rows and wants another."""
    run = make_ended(now, 2 * MONTH)
    add_event(run)

    with ThreadPoolExecutor(1) as thread:
        with transaction.atomic():
            locking.look_for_deadlocks_after("60s")
            AgentRunEvent.objects.select_for_update().get(run=run)
            purge = thread.submit(locking.with_own_connection, purge_as_victim)
            locking.wait_for_who_waits_for_us()
            AgentRun.objects.select_for_update().get(pk=run.pk)
        counts = purge.result()

    assert counts["runs"] == counts["run events"] == 1


def purge_as_victim() -> dict[str, int]:
    """The one that looks for a deadlock, once and late enough to find it, is ended."""
    locking.look_for_deadlocks_after("4s")
    return purge_old()


def purge_old() -> dict[str, int]:
    return retention.purge(Purge(older_than=MONTH))


def test_a_dry_run_counts_and_deletes_nothing(
    now: datetime, purged: list[list[UUID]]
) -> None:
    """R18: `--dry-run`."""
    user = factories.make_user()
    for _ in range(3):
        add_event(make_ended(now, 2 * MONTH, owner=user))
    factories.make_task("failed", now=now - 2 * MONTH)

    counts = retention.purge(Purge(older_than=MONTH, dry_run=True, chunk=2))

    assert counts == {"runs": 4, "run events": 3, "tasks": 1}
    assert AgentRun.objects.count() == 4
    assert purged == []


def test_a_condition_narrows_the_purge(now: datetime) -> None:
    mine, other = make_ended(now, 2 * MONTH), make_ended(now, 2 * MONTH)

    counts = retention.purge(Purge(older_than=MONTH, only=Q(owner=mine.owner)))

    assert counts["runs"] == 1
    assert list(AgentRun.objects.all()) == [other]


def test_the_daily_job_takes_the_days_of_the_setting(
    now: datetime, settings: Settings
) -> None:
    settings.AGENT_RUNS_RETENTION_DAYS = 2
    make_ended(now, timedelta(days=3))
    young = make_ended(now, timedelta(days=1))

    retention.purge_old_runs()

    assert list(AgentRun.objects.all()) == [young]


@pytest.mark.parametrize(
    "state", [RunState.WAITING_FOR_APPROVAL, RunState.WAITING_FOR_INPUT]
)
def test_who_waits_too_long_for_a_person_fails(
    now: datetime, settings: Settings, state: RunState
) -> None:
    """R18: `wait_expired`."""
    settings.AGENT_RUNS_MAX_WAIT_DAYS = 2
    old = factories.make_run(state, now=now - timedelta(days=3))
    young = factories.make_run(state, now=now - timedelta(days=1))

    retention.expire_waits()

    old.refresh_from_db()
    young.refresh_from_db()
    assert (old.state, old.end_reason) == (RunState.FAILED, EndReason.WAIT_EXPIRED)
    assert young.state == state


def test_who_was_answered_meanwhile_and_waits_again_is_left_alone(
    now: datetime, settings: Settings
) -> None:
    """R18: it is looked at once more behind the row's lock."""
    settings.AGENT_RUNS_MAX_WAIT_DAYS = 2
    old = now - timedelta(days=3)
    runs = [
        factories.make_run(RunState.WAITING_FOR_INPUT, now=old + timedelta(hours=hour))
        for hour in range(2)
    ]

    def move_the_other(change: RunChange, **_: object) -> None:
        AgentRun.objects.filter(id=runs[1].id).update(state_changed_at=now)

    run_changed.connect(move_the_other)
    try:
        retention.expire_waits()
    finally:
        run_changed.disconnect(move_the_other)

    states = [AgentRun.objects.get(id=run.id).state for run in runs]
    assert states == [RunState.FAILED, RunState.WAITING_FOR_INPUT]


@pytest.mark.parametrize(
    "state", [RunState.QUEUED, RunState.RUNNING, RunState.WAITING_FOR_REMOTE]
)
def test_what_waits_for_no_person_is_left_alone(now: datetime, state: RunState) -> None:
    """A remote agent has a deadline of its own."""
    run = factories.make_run(state, now=now - 10 * MONTH)

    retention.expire_waits()

    run.refresh_from_db()
    assert run.state == state


def test_both_jobs_are_registered() -> None:
    assert registries.periodic_jobs["retention"].interval == timedelta(days=1)
    assert "expire-waits" in registries.periodic_jobs
