"""Tools for tests of who may use which; all of them ship enabled."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from agent_runs import questions
from agent_runs.effects import Effect
from agent_runs.tools import registry
from agent_runs.tools.contract import Tool, ToolCall, Write, Written

if TYPE_CHECKING:
    from collections.abc import Iterator


class NoArguments(BaseModel):
    pass


async def _execute(call: ToolCall) -> str:
    return "read"


def reader(name: str = "reader", **values: Any) -> Tool:
    return _tool(name, execute=_execute, effect=Effect.READ_ONLY, **values)


def asker(name: str = "asker", **values: Any) -> Tool:
    question = questions.choice("Which?", ["red", "blue"], allow_free_text=False)
    ask = {"question": lambda arguments: question, "effect": Effect.READ_ONLY}
    return _tool(name, **ask | values)


class Writer:
    """A tool that waits for an approval; knows what it wrote, and can go away."""

    def __init__(self, name: str = "writer", **values: Any) -> None:
        self.written: list[str] = []
        self.is_installed = True
        defaults = {"needs_approval": True, "supports_workspaces": True}
        self.tool = _tool(
            name,
            write=self._write,
            effect=Effect.NON_IDEMPOTENT_WRITE,
            **defaults | values,
        )

    def _write(self, call: ToolCall) -> Written:
        self.written.append(call.call_id)
        write = Write(kind="create", model="newsroom.article", object_id="1")
        return Written(content="written", writes=(write,))


def _tool(name: str, **values: Any) -> Tool:
    defaults = {"description": name, "enabled_by_default": True}
    return Tool(name=name, parameters=NoArguments, **defaults | values)


@contextmanager
def registered(*tools: Tool | Writer) -> Iterator[None]:
    def provide() -> list[Tool]:
        return [
            tool.tool if isinstance(tool, Writer) else tool
            for tool in tools
            if isinstance(tool, Tool) or tool.is_installed
        ]

    registry.register_provider(provide)
    try:
        yield
    finally:
        registry.unregister_provider(provide)
