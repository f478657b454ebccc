from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.db import IntegrityError, transaction

from agent_runs import clock, lifecycle, queue
from agent_runs.contents import RunInput, TextPart, load_input
from agent_runs.models import AgentRun, AnswerLevel, EndReason, RunState
from agent_runs.signals import RunChange, run_changed
from tests import factories

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from pytest_django import DjangoCaptureOnCommitCallbacks
    from pytest_django.fixtures import Settings

pytestmark = pytest.mark.django_db

INPUT = RunInput(parts=(TextPart(text="hi"),))


def _expired(**values: object) -> AgentRun:
    past = clock.database_now() - timedelta(seconds=61)
    return factories.make_run(RunState.RUNNING, **{"lease_expires_at": past} | values)


@pytest.mark.parametrize(
    ("requeues", "seconds"),
    [(0, 30), (1, 60), (2, 120)],
    ids=["first", "second", "third"],
)
def test_the_delay_doubles(requeues: int, seconds: int) -> None:
    """R10: 30 s·2ⁿ."""
    assert queue.retry_delay(requeues) == timedelta(seconds=seconds)


@pytest.mark.parametrize("requeues", [3, 4, 10**9])
def test_there_is_no_fourth_requeue(requeues: int) -> None:
    assert queue.retry_delay(requeues) is None


def test_a_provider_may_allow_fewer_requeues_but_never_more() -> None:
    assert queue.retry_delay(1, limit=1) is None
    assert queue.retry_delay(3, limit=9) is None


def test_the_provider_may_ask_for_more_time_up_to_the_longest_delay() -> None:
    minute, hour = timedelta(seconds=60), timedelta(hours=1)

    assert queue.retry_delay(0, at_least=minute) == minute
    assert queue.retry_delay(0, at_least=hour) == timedelta(seconds=600)


def test_enqueue_stores_who_and_what_at_that_moment(owner: User) -> None:
    """S50, R16: later changes of the provider do not reach back."""
    provider = factories.make_provider(answer_level=AnswerLevel.REDACTED)
    configuration = factories.make_configuration(provider=provider)
    now = clock.database_now()

    run_id = queue.enqueue(
        owner=owner,
        handler="llm.text",
        run_input=INPUT,
        configuration=configuration,
        tools=["a"],
        now=now,
    )

    stored = AgentRun.objects.get(id=run_id)
    assert (stored.owner, stored.configuration) == (owner, configuration)
    assert (stored.answer_level, stored.tools) == (AnswerLevel.REDACTED, ["a"])
    assert (stored.state, stored.due_at) == (RunState.QUEUED, now)
    assert (stored.events.get().sequence, stored.events_written) == (1, 1)
    assert stored.events.get().facts == {"parts": 1, "text_length": 2}
    assert load_input(stored.request) == INPUT


def test_enqueue_nudges_after_the_commit_only(
    owner: User,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    """W5, B134."""
    with django_capture_on_commit_callbacks() as callbacks:
        queue.enqueue(
            owner=owner, handler="x", run_input=INPUT, now=clock.database_now()
        )

    assert len(callbacks) == 1


def test_what_is_rolled_back_is_neither_stored_nor_nudged(
    owner: User,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    """B134: no ghost works for a request that failed after all."""
    with (
        django_capture_on_commit_callbacks() as callbacks,
        contextlib.suppress(LookupError),
        transaction.atomic(),
    ):
        queue.enqueue(
            owner=owner, handler="x", run_input=INPUT, now=clock.database_now()
        )
        raise LookupError

    assert callbacks == []
    assert not AgentRun.objects.exists()


def test_due_runs_come_oldest_first_and_no_more_than_asked() -> None:
    now = clock.database_now()
    runs = [
        factories.make_run(due_at=now - timedelta(seconds=age)) for age in (5, 30, 10)
    ]
    factories.make_run(due_at=now + timedelta(seconds=1))

    assert queue.due_runs(limit=2, now=now) == [runs[1].id, runs[2].id]


def test_the_reaper_requeues_a_run_that_did_nothing_yet() -> None:
    """R11."""
    run = _expired()

    queue.reap()

    run.refresh_from_db()
    assert (run.state, run.requeues) == (RunState.QUEUED, 1)
    assert run.events.get().facts == {"cause": "lease expired"}


def test_the_reaper_leaves_a_living_lease() -> None:
    soon = clock.database_now() + timedelta(seconds=5)
    run = factories.make_run(RunState.RUNNING, lease_expires_at=soon)

    queue.reap()

    run.refresh_from_db()
    assert run.state == RunState.RUNNING


def test_a_run_that_cannot_be_reaped_does_not_keep_the_others_waiting(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """R12."""
    poisoned, other = _expired(), _expired()

    def refuse(change: RunChange, **_: object) -> None:
        if change.run_id == poisoned.id:
            raise IntegrityError

    run_changed.connect(refuse)
    try:
        queue.reap()
    finally:
        run_changed.disconnect(refuse)

    other.refresh_from_db()
    assert other.state == RunState.QUEUED
    assert "run not reaped" in caplog.text


@pytest.mark.parametrize("state", ["waiting_for_input", "waiting_for_approval"])
def test_a_waiting_run_is_invisible_to_the_reaper(state: str) -> None:
    run = factories.make_run(state)

    queue.reap()

    run.refresh_from_db()
    assert run.state == state


def test_a_run_that_wrote_is_not_started_over() -> None:
    """R11, invariant 4."""
    run = _expired(has_effects=True)

    queue.reap()

    run.refresh_from_db()
    assert run.end_reason == EndReason.LEASE_LOST_AFTER_WRITE


def test_a_run_that_wrote_goes_on_from_its_checkpoint() -> None:
    run = _expired(has_effects=True, checkpoint="state")

    queue.reap()

    run.refresh_from_db()
    assert (run.state, run.checkpoint) == (RunState.QUEUED, "state")


def test_the_reaper_gives_up_after_four_attempts() -> None:
    run = _expired(requeues=3)

    queue.reap()

    run.refresh_from_db()
    assert (run.state, run.end_reason) == (
        RunState.FAILED,
        EndReason.RETRIES_EXHAUSTED,
    )


def test_a_renewal_wins_over_the_reaper_that_looked_before() -> None:
    """R2: the reaper's WHERE repeats that the lease has expired."""
    run = _expired()
    looked_at = clock.database_now()
    lease = lifecycle.Lease(run_id=run.id, owner=run.lease_owner)
    assert lifecycle.renew(lease, now=looked_at)

    won = lifecycle.fail(
        run.id,
        EndReason.RETRIES_EXHAUSTED,
        now=looked_at,
        lease=lease,
        expired_before=looked_at,
    )

    run.refresh_from_db()
    assert (won, run.state) == (False, RunState.RUNNING)


def test_the_reaper_takes_fifty_at_a_time() -> None:
    for _ in range(52):
        _expired()

    queue.reap()

    left = AgentRun.objects.filter(state=RunState.RUNNING)
    assert left.count() == 2


def test_without_a_broker_nothing_is_nudged_again(settings: Settings) -> None:
    settings.A2A_REDIS_URL = ""
    now = clock.database_now()
    run = factories.make_run(due_at=now, nudged_at=None)

    queue.nudge_again()

    run.refresh_from_db()
    assert run.nudged_at is None
