"""How upper packages reach into a run without being imported here.

Filled in `AppConfig.ready()`; registering the same function again changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from django.db.models import Q

from agent_runs.models import AgentRun

if TYPE_CHECKING:
    from datetime import timedelta

# Asked at the start of every segment; a sentence (for the log) refuses it (S73).
SegmentGuard = Callable[[AgentRun], str | None]
# Called in the purge's transaction before the runs go; returns what else went, by name.
Purger = Callable[[Sequence[UUID]], Mapping[str, int]]
# From a name that an operator typed to the runs it means; raises `NothingNamed`.
RunFilter = Callable[[str], Q]


class NothingNamed(LookupError):  # noqa: N818 -- an answer, not a failure
    """No record has this name; the sentence is for the operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodicJob:
    """`run` is called about every `interval` by whichever process comes first."""

    name: str
    interval: timedelta
    run: Callable[[], None]


segment_guards: list[SegmentGuard] = []
purgers: list[Purger] = []
run_filters: dict[str, RunFilter] = {}
periodic_jobs: dict[str, PeriodicJob] = {}


def register_segment_guard(guard: SegmentGuard) -> None:
    if guard not in segment_guards:
        segment_guards.append(guard)


def register_purger(purger: Purger) -> None:
    if purger not in purgers:
        purgers.append(purger)


def register_run_filter(name: str, run_filter: RunFilter) -> None:
    """`name` is what operators call such a record, for instance «client»."""
    run_filters[name] = run_filter


def register_periodic_job(job: PeriodicJob) -> None:
    periodic_jobs[job.name] = job
