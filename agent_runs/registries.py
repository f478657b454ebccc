"""How upper packages reach into a run without being imported here.

Filled in `AppConfig.ready()`; registering the same function again changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from agent_runs.models import AgentRun
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import timedelta

# Asked at the start of every segment; a sentence (for the log) refuses it (S73).
SegmentGuard = Callable[[AgentRun], str | None]
# Called in the purge's transaction before the runs go; returns what else went, by name.
Purger = Callable[[Sequence[UUID]], Mapping[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodicJob:
    """`run` is called about every `interval` by whichever process comes first."""

    name: str
    interval: timedelta
    run: Callable[[], None]


segment_guards: list[SegmentGuard] = []
purgers: list[Purger] = []
periodic_jobs: dict[str, PeriodicJob] = {}


def register_segment_guard(guard: SegmentGuard) -> None:
    if guard not in segment_guards:
        segment_guards.append(guard)


def register_purger(purger: Purger) -> None:
    if purger not in purgers:
        purgers.append(purger)


def register_periodic_job(job: PeriodicJob) -> None:
    periodic_jobs[job.name] = job
