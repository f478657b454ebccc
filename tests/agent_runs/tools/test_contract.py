from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from agent_runs.effects import Effect
from agent_runs.questions import Question
from agent_runs.tools.contract import Tool, ToolCall, Written, is_tool_name
from agent_runs.tools.progress import Done, Progress


class Arguments(BaseModel):
    where: str
    depth: int = 1


async def _execute(call: ToolCall) -> str:
    return ""


def _tool(**values: Any) -> Tool:
    defaults: dict[str, Any] = {
        "name": "look",
        "description": "Looks.",
        "parameters": Arguments,
        "effect": Effect.READ_ONLY,
        "execute": _execute,
    }
    return Tool(**defaults | values)


def test_the_schema_comes_from_the_typed_parameters() -> None:
    """T1."""
    schema = _tool().schema()

    assert schema["required"] == ["where"]
    assert schema["properties"]["depth"]["type"] == "integer"


@pytest.mark.parametrize("name", ["", "Look", "look-up", "a" * 65, "look\n"], ids=repr)
def test_refuses_a_name_that_providers_would_refuse(name: str) -> None:
    with pytest.raises(ValueError, match="no tool name"):
        _tool(name=name)
    assert not is_tool_name(name)


def test_the_effect_has_no_default() -> None:
    """T1: a property of the code."""
    with pytest.raises(TypeError):
        Tool(  # type: ignore[call-arg]
            name="look", description="", parameters=Arguments, execute=_execute
        )


def _write(call: ToolCall) -> Written:
    return Written(content="", writes=())


async def _delegate(call: ToolCall) -> Progress:
    return Done(content="")


def _question(arguments: BaseModel) -> Question:
    return Question(text="Which?")


@pytest.mark.parametrize(
    "given",
    [
        {"execute": None},
        {"write": _write, "effect": Effect.IDEMPOTENT_WRITE},
        {"question": _question},
        {"delegate": _delegate, "effect": Effect.IDEMPOTENT_WRITE},
    ],
    ids=["nothing", "executes and writes", "executes and asks", "hands on as well"],
)
def test_a_tool_does_just_one_thing(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="just one"):
        _tool(**given)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"write": _write, "effect": Effect.READ_ONLY}, "only reads"),
        ({"question": _question, "effect": Effect.IDEMPOTENT_WRITE}, "it writes"),
        ({"delegate": _delegate, "effect": Effect.READ_ONLY}, "only reads"),
    ],
    ids=["writer", "question", "delegation"],
)
def test_the_effect_agrees_with_what_it_does(given: dict[str, Any], told: str) -> None:
    """T1."""
    with pytest.raises(ValueError, match=told):
        _tool(execute=None, **given)


def test_a_tool_with_a_question_asks_the_client() -> None:
    assert _tool(execute=None, question=_question).asks_client
    assert not _tool().asks_client


@pytest.mark.parametrize(
    ("given", "is_enabled"),
    [
        ({}, True),
        ({"effect": Effect.IDEMPOTENT_WRITE}, False),
        ({"execute": None, "question": _question}, False),
        ({"enabled_by_default": False}, False),
        ({"effect": Effect.IDEMPOTENT_WRITE, "enabled_by_default": True}, True),
    ],
    ids=["reads", "writes", "asks", "declared off", "declared on"],
)
def test_what_writes_or_asks_ships_disabled(
    given: dict[str, Any], is_enabled: bool
) -> None:
    """T2."""
    assert _tool(**given).enabled_by_default is is_enabled
