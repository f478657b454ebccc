"""How a segment ended, as a value; `engine.py` turns it into one move."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_runs.contents import Result
    from agent_runs.events import NewEvent
    from agent_runs.models import EndReason, RunState
    from agent_runs.waiting import Waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    result: Result
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """`retry_after` makes it worth another try; `summary` is for the log only."""

    reason: EndReason
    summary: str = ""
    is_retryable: bool = False
    retry_after: timedelta = timedelta()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspended:
    """`target` is a state that waits: for an answer, a verdict or a remote agent."""

    target: RunState
    waiting: Waiting
    event: NewEvent | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """Another worker should go on; at once, or after `delay`."""

    delay: timedelta = timedelta()


Outcome = Completed | Failed | Rejected | Suspended | Released
