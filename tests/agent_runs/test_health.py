from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from agent_runs import clock, health
from agent_runs.health import Limits
from agent_runs.models import RunState
from agent_runs.models.worker import Transport
from tests import factories

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    DjangoAssertNumQueries = Callable[[int], Any]

pytestmark = pytest.mark.django_db


@pytest.fixture
def now() -> datetime:
    return clock.database_now()


def ago(now: datetime, seconds: float) -> datetime:
    return now - timedelta(seconds=seconds)


def test_a_worker_and_an_empty_queue_are_healthy() -> None:
    """W4."""
    factories.make_worker()

    found = health.read(Limits())

    assert found.is_healthy
    assert found.live_workers == {"celery": 0, "sweep": 1}
    assert found.oldest_queue_wait is None


def test_counts_runs_and_ages(now: datetime) -> None:
    """W4: aggregates, and the age of the oldest of each."""
    user = factories.make_user()
    for state, seconds in (
        (RunState.QUEUED, 100),
        (RunState.QUEUED, 50),
        (RunState.RUNNING, 10),
        (RunState.WAITING_FOR_APPROVAL, 300),
        (RunState.WAITING_FOR_APPROVAL, 200),
        (RunState.WAITING_FOR_INPUT, 400),
        (RunState.WAITING_FOR_REMOTE, 9_000),
        (RunState.FAILED, 9_000),
        (RunState.COMPLETED, 9_000),
    ):
        factories.make_run(state, now=ago(now, seconds), owner=user)
    factories.make_run(RunState.FAILED, now=ago(now, 9), owner=user, requeues=3)

    found = health.read(Limits())

    assert (found.queued, found.running, found.expired_leases) == (2, 1, 1)
    assert (found.waiting_approvals, found.waiting_questions) == (2, 1)
    assert found.failed_without_retry == 1
    assert found.oldest_queue_wait is not None
    assert found.oldest_approval_wait is not None
    assert found.oldest_question_wait is not None
    assert 100 <= found.oldest_queue_wait.total_seconds() < 130
    assert 300 <= found.oldest_approval_wait.total_seconds() < 330
    assert 400 <= found.oldest_question_wait.total_seconds() < 430


def test_a_run_that_is_not_due_yet_does_not_wait(now: datetime) -> None:
    factories.make_worker()
    factories.make_run(
        RunState.QUEUED, now=ago(now, 9_000), due_at=now + timedelta(seconds=60)
    )

    found = health.read(Limits())

    assert (found.queued, found.oldest_queue_wait) == (1, None)
    assert found.is_healthy


@pytest.mark.parametrize(
    ("minimum", "transports", "healthy"),
    [
        (1, tuple(Transport), True),
        (2, tuple(Transport), False),
        (1, (Transport.CELERY,), False),
        (1, (Transport.SWEEP,), True),
        (0, (Transport.CELERY,), True),
    ],
)
def test_enough_workers_of_the_wanted_transports_are_healthy(
    minimum: int, transports: tuple[Transport, ...], healthy: bool
) -> None:
    """W4: live workers ≥ minimum."""
    factories.make_worker(transport=Transport.SWEEP)

    found = health.read(Limits(minimum_workers=minimum, transports=transports))

    assert found.is_healthy is healthy


@pytest.mark.parametrize(("seconds", "live"), [(110, 1), (130, 0), (-60, 0)])
def test_a_worker_is_live_while_it_was_seen(
    now: datetime, seconds: float, live: int
) -> None:
    """W2: within 120 s; a row from the future is not believed."""
    factories.make_worker(last_seen_at=ago(now, seconds))

    assert health.read(Limits()).live_worker_count == live


@pytest.mark.parametrize(("seconds", "healthy"), [(280, True), (320, False)])
def test_a_long_queue_wait_is_unhealthy(
    now: datetime, seconds: float, healthy: bool
) -> None:
    """W4: oldest queue wait ≤ maximum."""
    factories.make_worker()
    factories.make_run(RunState.QUEUED, now=ago(now, seconds))

    assert health.read(Limits()).is_healthy is healthy


@pytest.mark.parametrize(("seconds", "healthy"), [(40, True), (80, False)])
def test_a_lease_that_nobody_rescues_is_unhealthy(
    now: datetime, seconds: float, healthy: bool
) -> None:
    """W4: no lease expired for more than 60 s."""
    factories.make_worker()
    factories.make_run(RunState.RUNNING, lease_expires_at=ago(now, seconds))

    found = health.read(Limits())

    assert found.expired_leases == 1
    assert found.is_healthy is healthy


def test_each_broken_limit_is_named(now: datetime) -> None:
    factories.make_run(RunState.QUEUED, now=ago(now, 900))
    factories.make_run(RunState.RUNNING, lease_expires_at=ago(now, 900))

    problems = health.read(Limits()).problems

    assert len(problems) == 3
    assert problems[0] == "0 live workers, at least 1 wanted."


def test_asks_three_questions(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    """W4: time, runs, workers, whatever their number."""
    factories.make_run()

    with django_assert_num_queries(3):
        health.read(Limits())
