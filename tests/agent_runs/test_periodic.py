from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from agent_runs import clock, periodic, registries
from agent_runs.models import PeriodicJobState
from agent_runs.registries import PeriodicJob

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


@pytest.fixture
def ran() -> Iterator[list[str]]:
    """What ran of the jobs a test registers; no other job is known meanwhile."""
    before = dict(registries.periodic_jobs)
    registries.periodic_jobs.clear()
    yield []
    registries.periodic_jobs.clear()
    registries.periodic_jobs.update(before)


def _register(name: str, ran: list[str], *, fails: bool = False) -> None:
    def run() -> None:
        ran.append(name)
        if fails:
            raise RuntimeError

    registries.register_periodic_job(PeriodicJob(name=name, interval=HOUR, run=run))


def test_a_new_job_runs_at_once_and_then_at_its_interval(ran: list[str]) -> None:
    """W3."""
    _register("a", ran)

    assert (periodic.run_due_jobs(), periodic.run_due_jobs()) == (1, 0)
    assert ran == ["a"]

    past = clock.database_now() - timedelta(seconds=1)
    PeriodicJobState.objects.update(next_at=past)
    assert periodic.run_due_jobs() == 1


def test_a_job_that_fails_does_not_stop_the_others(
    ran: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    _register("a", ran, fails=True)
    _register("b", ran)

    assert periodic.run_due_jobs() == 2
    assert ran == ["a", "b"]
    assert "periodic job failed" in caplog.text


def test_a_job_another_process_has_just_taken_is_left_to_it(ran: list[str]) -> None:
    _register("a", ran)
    [job] = registries.periodic_jobs.values()
    now = clock.database_now()

    first, second = (periodic._take(job, None, now) for _ in range(2))

    assert (first, second) == (True, False)


def test_the_own_jobs_are_registered_when_the_app_is_ready() -> None:
    assert {"reap", "nudge-again", "prune-heartbeats"} <= set(registries.periodic_jobs)
