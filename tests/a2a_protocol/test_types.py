from __future__ import annotations

from enum import StrEnum
from typing import Any

import pytest
from pydantic import ValidationError

from a2a_protocol import plans, scalars, types
from a2a_protocol.types import OneofModel, Part, Role, Task, TaskState, WireModel
from tests.a2a_protocol.proto_facts import FACTS, PROTO_SHA256

MESSAGES = FACTS["messages"]
NOT_ON_THE_WIRE = {WireModel, OneofModel}


def wire_classes(base: type[Any]) -> dict[str, type[Any]]:
    found = (getattr(types, name) for name in types.__all__)
    return {
        kind.__name__: kind
        for kind in found
        if isinstance(kind, type) and issubclass(kind, base)
        if kind not in NOT_ON_THE_WIRE
    }


def described(field: plans.Field) -> dict[str, Any]:
    """A field in the words of the fact table, without its number."""
    description: dict[str, Any] = {
        "name": field.name,
        "json": field.json_name,
        "type": field.proto_type,
    }
    if field.shape == "list":
        description["repeated"] = True
    if field.required:
        description["required"] = True
    if field.presence:
        description["presence"] = True
    if field.oneof:
        description["oneof"] = field.oneof
    return description


def test_compares_with_the_proto_of_1_0_1() -> None:
    assert FACTS["sha256"] == PROTO_SHA256


def test_has_every_message_of_the_proto_and_no_other() -> None:
    assert set(wire_classes(WireModel)) == set(MESSAGES)


@pytest.mark.parametrize("name", MESSAGES)
def test_has_every_field_of_the_proto_and_no_other(name: str) -> None:
    facts = [
        {key: fact for key, fact in row.items() if key not in {"number", "deprecated"}}
        for row in MESSAGES[name]
    ]

    plan = plans.plan_of(wire_classes(WireModel)[name])

    assert [described(field) for field in plan.fields] == facts


def test_has_every_enum_of_the_proto_with_its_numbers() -> None:
    ours = {
        name: {member.name: number for number, member in numbers.items()}
        for name, kind in wire_classes(StrEnum).items()
        for numbers in [scalars.ENUM_NUMBERS[kind]]
    }

    assert ours == FACTS["enums"]


@pytest.mark.parametrize("kind", [TaskState, Role])
def test_spells_enum_values_by_their_full_names(kind: type[StrEnum]) -> None:
    assert all(member.value == member.name for member in kind)


def test_no_state_is_both_terminal_and_interrupted() -> None:
    assert not types.TERMINAL_STATES & types.INTERRUPTED_STATES


def test_models_are_values() -> None:
    part = Part(text="hi")

    with pytest.raises(ValidationError):
        part.text = "ho"  # type: ignore[misc]


def test_refuses_a_member_that_the_proto_does_not_have() -> None:
    with pytest.raises(ValidationError):
        Task.model_validate({"id": "x", "kind": "task"})


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        pytest.param(Part(text=""), "text", id="empty text is text"),
        pytest.param(Part(raw=b""), "raw", id="no bytes are bytes"),
        pytest.param(Part(url="https://x.example"), "url", id="url"),
        pytest.param(Part(data=False), "data", id="false is data"),
        pytest.param(Part(data=None), "data", id="null is data"),
        pytest.param(Part(text="a", data=None), "text", id="null beside a text is not"),
        pytest.param(Part(filename="a.txt"), None, id="nothing"),
    ],
)
def test_a_part_knows_its_content(part: Part, kind: str | None) -> None:
    assert part.kind == kind
