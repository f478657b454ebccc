"""Reading what a remote agent sent: as much as makes sense, and notes about the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from a2a_protocol import proto_json
from a2a_protocol.errors import ErrorCode, RemoteError
from a2a_protocol.types import (
    AgentCard,
    AgentSkill,
    ListTasksResponse,
    Message,
    Part,
    Role,
    SendMessageResponse,
    StreamResponse,
    Task,
    TaskState,
    WireModel,
)

if TYPE_CHECKING:
    from a2a_protocol.json_text import JSONValue

STATUS: dict[str, JSONValue] = {"state": "TASK_STATE_WORKING"}


def read_task(**members: Any) -> tuple[Task, tuple[str, ...]]:
    return proto_json.read_lenient(Task, {"id": "t", "status": STATUS} | members)


def read_parts(*parts: JSONValue) -> tuple[tuple[Part, ...], tuple[str, ...]]:
    message, notes = proto_json.read_lenient(
        Message, {"messageId": "m", "role": "ROLE_AGENT", "parts": list(parts)}
    )
    return message.parts, notes


def test_has_no_notes_about_what_is_in_order() -> None:
    task, notes = read_task(status={**STATUS, "timestamp": None}, futureField=1)

    assert task.status.state is TaskState.TASK_STATE_WORKING
    assert notes == ()


@pytest.mark.parametrize(
    "state",
    ["TASK_STATE_PAUSED", "completed", 99, None, {}, True, "UNRECOGNIZED"],
)
def test_an_unknown_state_is_unspecified_and_never_completed(state: JSONValue) -> None:
    """C4."""
    task, notes = read_task(status={"state": state})

    assert task.status.state is TaskState.TASK_STATE_UNSPECIFIED
    assert [note.split(":")[0] for note in notes] == ["status.state"]


@pytest.mark.parametrize("status", [None, "TASK_STATE_COMPLETED", []])
def test_a_task_without_a_status_is_unspecified(status: JSONValue) -> None:
    """C4."""
    task, notes = read_task(status=status)

    assert task.status.state is TaskState.TASK_STATE_UNSPECIFIED
    assert len(notes) == 1


def test_leaves_out_parts_of_an_unknown_kind() -> None:
    """C4."""
    parts, notes = read_parts(
        {"text": "a"}, {"hologram": {}}, {"text": 5}, "b", None, {"data": None}
    )

    assert parts == (Part(text="a"), Part(data=None))
    assert [note.split(":")[0] for note in notes] == [
        "parts[1]",
        "parts[2].text",
        "parts[3]",
        "parts[4]",
    ]


def test_the_first_of_two_contents_wins() -> None:
    """protocol: oneof from a remote peer."""
    parts, notes = read_parts({"hologram": 1, "url": "u", "text": "a"})

    assert parts == (Part(url="u"),)
    assert notes == ("parts[0]: Only one of text, raw, url, data may be set.",)


def test_an_unknown_answer_has_no_kind() -> None:
    """C4."""
    event, notes = proto_json.read_lenient(StreamResponse, {"heartbeat": {}})

    assert event.kind is None
    assert len(notes) == 1


def test_reads_null_lists_and_objects_of_a_card() -> None:
    """B029: a card seen in the wild has null for its tags."""
    skill, _ = proto_json.read_lenient(
        AgentSkill, {"id": "s", "name": "S", "description": "d", "tags": None}
    )
    card, notes = proto_json.read_lenient(
        AgentCard, {"name": "A", "signatures": None, "provider": None, "skills": []}
    )

    assert skill.tags == ()
    assert (card.provider, card.signatures, card.skills) == (None, (), ())
    assert card.capabilities.streaming is None
    assert {note.split(":")[0] for note in notes} == {
        "description",
        "supportedInterfaces",
        "version",
        "capabilities",
        "defaultInputModes",
        "defaultOutputModes",
    }


def test_keeps_a_security_scheme_that_it_does_not_know() -> None:
    card, notes = proto_json.read_lenient(
        AgentCard, {"securitySchemes": {"new": {"quantum": {}}, "odd": 5}}
    )

    assert list(card.security_schemes) == ["new"]
    assert card.security_schemes["new"].kind is None
    assert {"securitySchemes.new", "securitySchemes.odd"} <= {
        note.split(":")[0] for note in notes
    }


@pytest.mark.parametrize(
    ("members", "path"),
    [
        pytest.param({"artifacts": "x"}, "artifacts", id="no list"),
        pytest.param({"metadata": []}, "metadata", id="no object"),
        pytest.param({"contextId": 5}, "contextId", id="no string"),
        pytest.param(
            {"status": {**STATUS, "timestamp": "yesterday"}},
            "status.timestamp",
            id="no moment",
        ),
        pytest.param(
            {"status": {**STATUS, "message": "done"}}, "status.message", id="no message"
        ),
    ],
)
def test_a_wrong_member_does_not_lose_the_reply(
    members: dict[str, Any], path: str
) -> None:
    """C4, B031."""
    task, notes = read_task(**members)

    assert task == read_task()[0]
    assert [note.split(":")[0] for note in notes] == [path]


def test_holds_bounds_of_requests_against_nobody_else() -> None:
    context_id = "x" * 1000
    extensions: list[JSONValue] = ["x"] * 1001  # a request has 1000 at most
    sent: dict[str, JSONValue] = {
        "messageId": "",
        "contextId": context_id,
        "role": 2,
        "parts": [],
        "extensions": extensions,
    }

    message, notes = proto_json.read_lenient(Message, sent)

    assert message == Message(
        message_id="",
        context_id=context_id,
        role=Role.ROLE_AGENT,
        parts=(),
        extensions=("x",) * 1001,
    )
    assert notes == ()


def test_both_spellings_of_one_field_are_no_mistake_here() -> None:
    task, _ = read_task(contextId="a", context_id="b")

    assert task.context_id == "a"


def test_cleans_texts_and_data() -> None:
    """S15, B009, B013: what was read can be written again."""
    parts, _ = read_parts(
        {"text": "a\x00", "filename": "\ud800"}, {"data": {"x": [float("inf"), "\x00"]}}
    )

    assert parts == (
        Part(text="a\ufffd", filename="\ufffd"),
        Part(data={"x": [None, "\ufffd"]}),
    )


@pytest.mark.parametrize(
    ("model", "value", "field"),
    [
        pytest.param(Task, {"status": STATUS}, "id", id="task without id"),
        pytest.param(Task, {"id": " ", "status": STATUS}, "id", id="blank id"),
        pytest.param(Task, {"id": 5, "status": STATUS}, "id", id="id of another type"),
        pytest.param(
            SendMessageResponse, {"task": {"status": STATUS}}, "task.id", id="inside"
        ),
        pytest.param(
            StreamResponse,
            {"statusUpdate": {"contextId": "c", "status": STATUS}},
            "statusUpdate.taskId",
            id="status of nothing",
        ),
        pytest.param(
            StreamResponse,
            {"artifactUpdate": {"artifact": {}}},
            "artifactUpdate.taskId",
            id="artifact of nothing",
        ),
        pytest.param(
            ListTasksResponse, {"tasks": [{"status": STATUS}]}, "tasks[0].id", id="list"
        ),
        pytest.param(SendMessageResponse, "<html>", "", id="no object"),
        pytest.param(SendMessageResponse, None, "", id="null"),
    ],
)
def test_refuses_what_is_about_nothing(
    model: type[WireModel], value: JSONValue, field: str
) -> None:
    """C4."""
    with pytest.raises(RemoteError) as caught:
        proto_json.read_lenient(model, value)

    assert caught.value.code is ErrorCode.INVALID_AGENT_RESPONSE
    assert [violation.field for violation in caught.value.violations] == [field]


def test_keeps_a_bounded_number_of_notes() -> None:
    _, notes = read_parts(*[{}] * 1000)

    assert len(notes) == proto_json.MAX_REPORTED


def test_can_be_had_without_the_notes() -> None:
    task = proto_json.read(Task, {"id": "t"}, where="result", strict=False)

    assert task.id == "t"
