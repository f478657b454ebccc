from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from agent_runs.effects import Effect
from agent_runs.tools.contract import Tool, ToolCall


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


def test_the_effect_has_no_default() -> None:
    """T1: a property of the code."""
    with pytest.raises(TypeError):
        Tool(  # type: ignore[call-arg]
            name="look", description="", parameters=Arguments, execute=_execute
        )
