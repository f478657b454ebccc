"""How upper packages reach into a run without being imported here.

Filled in `AppConfig.ready()`; registering the same function again changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from django.db.models import Q

from agent_runs.models import AgentRun

if TYPE_CHECKING:
    from datetime import timedelta

    from agent_runs.tools.grants import ManagedTool

# Asked at the start of every segment; a sentence (for the log) refuses it (S73).
SegmentGuard = Callable[[AgentRun], str | None]
# Called in the purge's transaction before the runs go; returns what else went, by name.
Purger = Callable[[Sequence[UUID]], Mapping[str, int]]
# From a name that an operator typed to the runs it means; raises `NothingNamed`.
RunFilter = Callable[[str], Q]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDescription:
    """Where a run comes from, in words for operators: who asked, and for which skill."""

    asker: str
    skill: str


# Given the runs of a page, describes those it knows, in one query.
RunDescriber = Callable[[Collection[UUID]], Mapping[UUID, RunDescription]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """A step of a run that was handed to somebody else, for the run's page.

    `url` is empty where whoever looks may not open it.
    """

    text: str
    url: str


# Given a run and whoever looks at its page; in the order of what happened.
HandoverSource = Callable[[UUID, Any], Sequence[Handover]]


class NothingNamed(LookupError):  # noqa: N818 -- an answer, not a failure
    """No record has this name; the sentence is for the operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodicJob:
    """`run` is called about every `interval` by whichever process comes first."""

    name: str
    interval: timedelta
    run: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAudience:
    """Whether runs that somebody starts by one skill are given a tool; problems: not."""

    who: str
    skill: str
    url: str
    problems: tuple[str, ...]


class ToolAudienceSource(Protocol):
    def __call__(
        self, tool: ManagedTool, *, named: str = "", part: slice = ...
    ) -> list[ToolAudience]:
        """In a fixed order; `named` is a part of the name of whoever asks."""


segment_guards: list[SegmentGuard] = []
purgers: list[Purger] = []
run_filters: dict[str, RunFilter] = {}
run_describers: list[RunDescriber] = []
handover_sources: list[HandoverSource] = []
periodic_jobs: dict[str, PeriodicJob] = {}
# With the permission that whoever looks at a page of it needs.
tool_audiences: dict[ToolAudienceSource, str] = {}


def register_segment_guard(guard: SegmentGuard) -> None:
    if guard not in segment_guards:
        segment_guards.append(guard)


def segment_problem(run: AgentRun) -> str | None:
    """The first refusal of a guard, for the log."""
    return next(filter(None, (guard(run) for guard in segment_guards)), None)


def register_purger(purger: Purger) -> None:
    if purger not in purgers:
        purgers.append(purger)


def register_run_filter(name: str, run_filter: RunFilter) -> None:
    """`name` is what operators call such a record, for instance «client»."""
    run_filters[name] = run_filter


def register_run_describer(describer: RunDescriber) -> None:
    if describer not in run_describers:
        run_describers.append(describer)


def described(run_ids: Collection[UUID]) -> dict[UUID, RunDescription]:
    """What upper packages know of these runs; a run may be missing."""
    found: dict[UUID, RunDescription] = {}
    for describer in run_describers:
        found.update(describer(run_ids))
    return found


def register_handovers(source: HandoverSource) -> None:
    if source not in handover_sources:
        handover_sources.append(source)


def handovers(run_id: UUID, looker: Any) -> list[Handover]:
    """Of one run, as far as `looker` may see them."""
    return [found for source in handover_sources for found in source(run_id, looker)]


def register_periodic_job(job: PeriodicJob) -> None:
    periodic_jobs[job.name] = job


def register_tool_audience(source: ToolAudienceSource, *, permission: str) -> None:
    tool_audiences[source] = permission
