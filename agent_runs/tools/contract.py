"""What a tool declares (T1). Its effect is a property of the code, never of a record."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping

    from django.contrib.auth.models import AbstractBaseUser
    from pydantic import BaseModel

    from agent_runs.effects import Effect
    from agent_runs.models import AgentRun
    from agent_runs.questions import Answer, Question
    from agent_runs.tools.progress import Progress

_NAME = re.compile(r"[a-z0-9_]{1,64}\Z")


def is_tool_name(name: str) -> bool:
    return bool(_NAME.match(name))


class ToolError(Exception):
    """The call cannot be done; the sentence is shown to the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call that the model asked for, with arguments its schema accepted.

    `run.owner` is the user whose permissions count, `run.workspace` where it writes.
    `answers` are those given so far in this turn, by the key of their question.
    """

    run: AgentRun
    call_id: str
    arguments: BaseModel
    answers: Mapping[str, Answer] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One thing that a tool has written; `model` is `app_label.model` (T17)."""

    kind: str
    model: str
    object_id: str = ""
    draft_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """`content` is the result that the model sees."""

    content: str
    writes: tuple[Write, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool does exactly one of four things:

    - `execute` gives a result. A coroutine function may be cut short; a plain function may
      use the ORM.
    - `write` changes the database, as a plain function. What it does, its events and the
      run's checkpoint are one transaction, so that it never happens twice (R13).
    - `question` makes of the arguments what the client is asked; the answer is the result.
    - `delegate` hands the call to somebody else and says how far it is. It is called again
      for the same run and call id after every wait, every answer and every crash, keeps
      its own record of what left, and may be cut short at any await.

    Unless `enabled_by_default` says otherwise, what only reads ships enabled; what writes,
    and what bothers the client, waits for an administrator (T2).

    `permission` is `app_label.codename`, or empty for none. `admits` says besides, in one
    query, which of these users may use the tool, all by key. `may_run` says whether a user
    may make this very call; it is asked of whoever approves. `preview` tells people what
    a call would do, in at most 20 lines. With `is_outside` the result comes from somebody
    else, and is fenced before the model reads it. All but a coroutine run in a thread
    that may use the ORM, and may raise `ToolError`.
    """

    name: str
    description: str
    parameters: type[BaseModel]
    effect: Effect
    execute: Callable[[ToolCall], Awaitable[str] | str] | None = None
    write: Callable[[ToolCall], Written] | None = None
    question: Callable[[BaseModel], Question] | None = None
    delegate: Callable[[ToolCall], Awaitable[Progress]] | None = None
    preview: Callable[[ToolCall], str] | None = None
    may_run: Callable[[AbstractBaseUser, BaseModel], bool] | None = None
    group: str = ""
    permission: str = ""
    admits: Callable[[Collection[Any]], Collection[Any]] | None = None
    needs_approval: bool = False
    supports_workspaces: bool = False
    is_outside: bool = False
    enabled_by_default: bool | None = None

    def __post_init__(self) -> None:
        if not is_tool_name(self.name):
            raise ValueError(f"{self.name!r} is no tool name")
        acts = self.execute, self.write, self.question, self.delegate
        if sum(map(bool, acts)) != 1:
            raise ValueError(
                f"{self.name} must execute, write, ask or delegate, and just one"
            )
        if bool(self.write or self.delegate) and not self.effect.is_write:
            raise ValueError(f"{self.name} writes, and declares that it only reads")
        if bool(self.question) and self.effect.is_write:
            raise ValueError(f"{self.name} asks, and declares that it writes")

        if self.enabled_by_default is None:
            is_harmless = not self.effect.is_write and not self.question
            object.__setattr__(self, "enabled_by_default", is_harmless)

    @property
    def asks_client(self) -> bool:
        return self.question is not None

    def schema(self) -> dict[str, Any]:
        return self.parameters.model_json_schema()
