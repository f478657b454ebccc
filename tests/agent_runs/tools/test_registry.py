from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

from agent_runs.effects import Effect
from agent_runs.tools import registry
from agent_runs.tools.contract import Tool, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterator


# Some providers make their tools of records.
pytestmark = pytest.mark.django_db


class NoArguments(BaseModel):
    pass


async def do_nothing(call: ToolCall) -> str:
    return ""


def make_tool(name: str, effect: Effect = Effect.READ_ONLY) -> Tool:
    return Tool(
        name=name,
        description="For tests.",
        parameters=NoArguments,
        effect=effect,
        execute=do_nothing,
    )


@pytest.fixture
def offered() -> Iterator[list[Tool]]:
    """What a provider of the test's own gives at this moment."""
    tools: list[Tool] = []

    def provider() -> list[Tool]:
        return tools

    registry.register_provider(provider)
    registry.register_provider(provider)
    yield tools
    registry.unregister_provider(provider)
    registry.unregister_provider(provider)


def test_providers_are_asked_anew(offered: list[Tool]) -> None:
    """Tools made from records need no restart."""
    assert "test_read" not in registry.all_tools()

    offered.append(make_tool("test_read"))

    assert registry.all_tools()["test_read"] is offered[0]


def test_a_tools_effect_is_the_one_it_declares(offered: list[Tool]) -> None:
    """T1."""
    offered.append(make_tool("test_read"))

    assert registry.effect_of("test_read") is Effect.READ_ONLY


def test_a_name_nobody_registered_counts_as_a_write() -> None:
    """T1."""
    assert registry.effect_of("test_nobody") is Effect.NON_IDEMPOTENT_WRITE


@pytest.mark.parametrize("name", ["", "A", "a-b", "a b", "a.b", "a\n", "ä", "a" * 65])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    """T1: at most 64 of `[a-z0-9_]`."""
    with pytest.raises(ValueError, match="no tool name"):
        make_tool(name)


def test_a_tools_schema_comes_from_its_parameters() -> None:
    assert make_tool("test_read").schema()["type"] == "object"
