"""How far a call is that somebody else works on (a delegation)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_runs.contents import JSONValue
    from agent_runs.questions import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """It ended; `content` is the call's result. `facts` are for the run's timeline."""

    content: str
    is_error: bool = False
    facts: Mapping[str, JSONValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StillRunning:
    """The run waits until `delegations.wake` is called with this id."""

    waiting_id: str
    facts: Mapping[str, JSONValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Whoever works on it needs an answer first.

    The call is made again with the answer among `ToolCall.answers`, under `key`, which
    no other question of the installation may have.
    """

    question: Question
    key: str
    facts: Mapping[str, JSONValue] = field(default_factory=dict)


Progress = Done | StillRunning | Asking
