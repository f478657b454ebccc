from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import IntegrityError

from agent_runs import clock, handlers, stopping, sweep
from agent_runs.contents import Result
from agent_runs.effects import Effect
from agent_runs.handlers import PlainHandler, RunContext
from agent_runs.models import AgentRun, RunState
from agent_runs.signals import RunChange, run_changed
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)


class Quick(PlainHandler):
    name = "test.quick"
    effect = Effect.READ_ONLY

    def run(self, context: RunContext) -> Result:
        return Result()


@pytest.fixture(autouse=True)
def _handler() -> None:
    handlers.register(Quick())


def _queue(count: int) -> list[AgentRun]:
    now = clock.database_now()
    return [
        factories.make_run(handler="test.quick", due_at=now - timedelta(seconds=n))
        for n in range(count)
    ]


def _completed() -> int:
    return AgentRun.objects.filter(state=RunState.COMPLETED).count()


def test_a_tick_runs_what_is_due_oldest_first() -> None:
    newest, *_, oldest = _queue(3)

    tick = sweep.run_tick(limit=2, max_seconds=50)

    oldest.refresh_from_db()
    newest.refresh_from_db()
    assert tick.runs == 2
    assert (oldest.state, newest.state) == (RunState.COMPLETED, RunState.QUEUED)


def test_a_limit_of_nothing_runs_the_jobs_only() -> None:
    """W3: --limit 0."""
    _queue(1)

    tick = sweep.run_tick(limit=0, max_seconds=50)

    assert (tick.runs, _completed()) == (0, 0)
    assert tick.jobs > 0


def test_a_tick_starts_nothing_after_its_time() -> None:
    _queue(1)

    assert sweep.run_tick(limit=10, max_seconds=0).runs == 0


def test_a_tick_ends_when_nothing_is_due() -> None:
    _queue(2)

    assert sweep.run_tick(limit=10, max_seconds=50).runs == 2


def test_a_stopping_process_starts_nothing() -> None:
    _queue(1)
    stopping.request_stop()
    try:
        assert sweep.run_tick(limit=10, max_seconds=50).runs == 0
    finally:
        stopping.reset()


def test_a_run_that_cannot_be_worked_with_does_not_keep_the_others_waiting(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """R12: its claim breaks the numbers of its own events."""
    *others, poisoned = _queue(3)

    def refuse(change: RunChange, **_: object) -> None:
        if change.run_id == poisoned.id:
            raise IntegrityError

    run_changed.connect(refuse)
    try:
        tick = sweep.run_tick(limit=10, max_seconds=50)
    finally:
        run_changed.disconnect(refuse)

    assert (tick.runs, _completed()) == (len(others), len(others))
    assert "run passed over" in caplog.text


def test_a_tick_picks_up_the_run_of_a_worker_that_died() -> None:
    """R11, W3."""
    past = clock.database_now() - timedelta(seconds=61)
    run = factories.make_run(
        RunState.RUNNING, handler="test.quick", lease_expires_at=past
    )

    sweep.run_tick(limit=10, max_seconds=50)

    run.refresh_from_db()
    assert (run.state, run.requeues) == (RunState.COMPLETED, 1)
