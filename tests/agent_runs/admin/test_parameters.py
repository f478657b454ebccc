from __future__ import annotations

from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from agent_runs.admin.parameters import Parameter, parameters


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Node(BaseModel):
    children: list[Node] = []


class Everything(BaseModel):
    text: str = Field("", min_length=1, max_length=9, description="Some text.")
    number: float | None = None
    count: int = Field(10, ge=1, le=50)
    switch: bool = False
    colours: list[Colour]
    model: Literal["a.b", "c.d"]
    values: dict[str, Any]
    whatever: Any
    node: Node


@pytest.fixture
def found() -> dict[str, Parameter]:
    return {each.name: each for each in parameters(Everything.model_json_schema())}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("text", "text"),
        ("number", "number or nothing"),
        ("count", "whole number"),
        ("switch", "yes or no"),
        ("colours", "list of one of «red», «blue»"),
        ("model", "one of «a.b», «c.d»"),
        ("values", "object"),
        ("whatever", "anything"),
        ("node", "object"),
    ],
)
def test_says_in_words_what_a_parameter_takes(
    found: dict[str, Parameter], name: str, kind: str
) -> None:
    assert found[name].kind == kind


def test_tells_limits_and_what_counts_without_it(found: dict[str, Parameter]) -> None:
    assert found["text"].limits == "length at least 1, length at most 9"
    assert found["count"].limits == "not below 1, not above 50, without it 10"


def test_tells_what_is_needed(found: dict[str, Parameter]) -> None:
    assert found["colours"].is_required
    assert not found["count"].is_required


def test_a_schema_that_names_itself_ends() -> None:
    schema = {
        "$defs": {"List": {"type": "array", "items": {"$ref": "#/$defs/List"}}},
        "properties": {"deep": {"$ref": "#/$defs/List"}},
    }

    (deep,) = parameters(schema)

    assert deep.kind.endswith("…")


@pytest.mark.parametrize(
    "schema", [{}, {"properties": {"a": {}}}], ids=["none", "bare"]
)
def test_a_schema_may_say_little(schema: dict[str, Any]) -> None:
    kinds = [each.kind for each in parameters(schema)]

    assert kinds in ([], ["anything"])
