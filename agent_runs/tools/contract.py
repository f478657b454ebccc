"""What a tool declares (T1). Its effect is a property of the code, never of a record."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pydantic import BaseModel

    from agent_runs.effects import Effect
    from agent_runs.models import AgentRun

_NAME = re.compile(r"[a-z0-9_]{1,64}\Z")


class ToolError(Exception):
    """The call cannot be done; the sentence is shown to the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call that the model asked for, with arguments its schema accepted."""

    run: AgentRun
    call_id: str
    arguments: BaseModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """`permission` is `app_label.codename`, or empty for none."""

    name: str
    description: str
    parameters: type[BaseModel]
    effect: Effect
    execute: Callable[[ToolCall], Awaitable[str]]
    group: str = ""
    permission: str = ""
    needs_approval: bool = False
    asks_client: bool = False
    supports_workspaces: bool = False
    enabled_by_default: bool = True

    def __post_init__(self) -> None:
        if not _NAME.match(self.name):
            raise ValueError(f"{self.name!r} is no tool name")

    def schema(self) -> dict[str, Any]:
        return self.parameters.model_json_schema()
