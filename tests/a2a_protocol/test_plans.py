from __future__ import annotations

import pytest

from a2a_protocol import plans, types
from a2a_protocol.types import TaskState


@pytest.mark.parametrize(
    ("name", "json_name"),
    [
        ("id", "id"),
        ("message_id", "messageId"),
        ("reference_task_ids", "referenceTaskIds"),
        ("oauth2_security_scheme", "oauth2SecurityScheme"),
    ],
)
def test_spells_json_names_as_protobuf_does(name: str, json_name: str) -> None:
    assert plans.json_name(name) == json_name


def test_makes_one_plan_for_a_model() -> None:
    assert plans.plan_of(types.Task) is plans.plan_of(types.Task)


def test_substitutes_an_empty_message_for_a_required_one() -> None:
    status = plans.plan_of(types.Task).by_name["status"]

    assert plans.substitute_for(status) == types.TaskStatus(
        state=TaskState.TASK_STATE_UNSPECIFIED
    )


def test_no_message_has_more_than_one_oneof() -> None:
    """The reader keeps one choice for a message."""
    for name in types.__all__:
        kind = getattr(types, name)
        if isinstance(kind, type) and issubclass(kind, types.WireModel):
            oneofs = {field.oneof for field in plans.plan_of(kind).oneof}

            assert len(oneofs) <= 1, name
