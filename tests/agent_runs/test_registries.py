from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from django.db.models import Q

from agent_runs import registries
from agent_runs.registries import PeriodicJob, RunDescription

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from uuid import UUID

    from agent_runs.models import AgentRun


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    guards, purgers = registries.segment_guards[:], registries.purgers[:]
    describers = registries.run_describers[:]
    jobs, filters = dict(registries.periodic_jobs), dict(registries.run_filters)
    yield
    registries.segment_guards[:], registries.purgers[:] = guards, purgers
    registries.run_describers[:] = describers
    registries.periodic_jobs.clear()
    registries.periodic_jobs.update(jobs)
    registries.run_filters.clear()
    registries.run_filters.update(filters)


def do_nothing() -> None:
    pass


def guard(run: AgentRun) -> str | None:
    return None


def purger(run_ids: Sequence[UUID]) -> dict[str, int]:
    return {}


def test_the_same_function_is_registered_once() -> None:
    for _ in range(2):
        registries.register_segment_guard(guard)
        registries.register_purger(purger)

    assert registries.segment_guards.count(guard) == 1
    assert registries.purgers.count(purger) == 1


def test_the_last_job_of_a_name_counts() -> None:
    jobs = [
        PeriodicJob(name="test", interval=timedelta(hours=hours), run=do_nothing)
        for hours in (1, 2)
    ]

    for job in jobs:
        registries.register_periodic_job(job)

    assert registries.periodic_jobs["test"] is jobs[1]


def test_a_filter_is_found_by_what_operators_call_it() -> None:
    registries.register_run_filter("team", lambda name: Q(owner__username=name))

    assert registries.run_filters["team"]("a") == Q(owner__username="a")


def test_each_package_describes_the_runs_it_knows() -> None:
    ours, theirs = uuid4(), uuid4()
    registries.run_describers.clear()
    for run_id, asker in ((ours, "us"), (theirs, "them")):
        told = {run_id: RunDescription(asker=asker, skill="")}
        registries.register_run_describer(lambda run_ids, told=told: told)  # type: ignore[misc]

    found = registries.described([ours, theirs])

    assert {found[ours].asker, found[theirs].asker} == {"us", "them"}
