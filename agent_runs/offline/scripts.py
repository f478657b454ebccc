"""The offline models by name, and how an app adds one of its own.

A model is a script: a pure function from what was said so far to what comes next, a text
or calls of tools. It keeps nothing between two calls, so that a run goes on in any
process, and the same conversation always goes on in the same way. An app registers its
script in `ready()`.

Nothing of pydantic-ai is imported here, so that checks and forms can ask for the names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent_runs.offline.answers import ANSWERS

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A call and what became of it: `outcome` is success, failed or denied."""

    tool: str
    arguments: Mapping[str, Any]
    outcome: str
    content: str

    @property
    def is_success(self) -> bool:
        return self.outcome == "success"


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTool:
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """`done` are the calls since the prompt, in order; `tools` are those offered.

    Without `may_call` a text is expected: the run has no round left.
    """

    prompt: str
    done: tuple[Done, ...] = ()
    tools: Mapping[str, OfferedTool] = field(default_factory=dict)
    may_call: bool = True

    def last(self, tool: str) -> Done | None:
        """The last call of a tool, where there was one."""
        return next((each for each in reversed(self.done) if each.tool == tool), None)


Script = Callable[[Conversation], str | tuple[Call, ...]]


def _answering(answer: Callable[[str], str]) -> Script:
    return lambda conversation: answer(conversation.prompt)


_scripts: dict[str, Script] = {
    name: _answering(answer) for name, answer in ANSWERS.items()
}


def register(name: str, script: Script) -> None:
    """Make a model known; the same script again is fine, another one is not."""
    if _scripts.setdefault(name, script) is not script:
        raise ValueError(f"there is an offline model {name} already")


def unregister(name: str) -> None:
    """Forget a model; for tests."""
    _scripts.pop(name, None)


def find(name: str) -> Script | None:
    return _scripts.get(name)


def listed() -> str:
    """The names for people, as «a», «b»."""
    return ", ".join(f"«{name}»" for name in _scripts)
