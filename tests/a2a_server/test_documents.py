from __future__ import annotations

import json
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from a2a_protocol import proto_json, types
from a2a_protocol.json_text import load_json
from a2a_server import documents
from a2a_server.documents import Document, TaskName
from a2a_server.models import TaskState
from agent_runs.contents import DataPart, FilePart, Output, TextPart, text_output
from agent_runs.models import EndReason
from agent_runs.questions import Question
from agent_runs.waiting import open_question

NOW = datetime(2026, 3, 4, 5, 6, 7, 89_000, UTC)
NAME = TaskName(
    task_id=uuid.UUID("11111111-2222-4333-8444-555555555555"), context_id="c-1"
)


def make_message(text: str = "hi", **values: Any) -> types.Message:
    defaults: dict[str, Any] = {
        "message_id": "m-1",
        "role": types.Role.ROLE_USER,
        "parts": (types.Part(text=text),),
    }
    return types.Message(**defaults | values)


def make_document(*texts: str) -> Document:
    history = documents.EMPTY
    for text in texts or ("hi",):
        message = documents.client_message(make_message(text), name=NAME)
        history = documents.with_message(history, message)
    status = documents.status(TaskState.SUBMITTED, at=NOW)
    return Document(head=documents.head(NAME, status), history=history)


def read_task(text: str) -> types.Task:
    return proto_json.read(types.Task, load_json(text.encode()))


def texts_of(task: types.Task) -> list[str | None]:
    return [message.parts[0].text for message in task.history]


def test_new_document_reads_back_as_the_task() -> None:
    """S60, S61, S63: ProtoJSON with the timestamp in milliseconds."""
    text = documents.task_text(make_document("hi"))

    assert json.loads(text) == {
        "id": str(NAME.task_id),
        "contextId": "c-1",
        "status": {
            "state": "TASK_STATE_SUBMITTED",
            "timestamp": "2026-03-04T05:06:07.089Z",
        },
        "history": [
            {
                "messageId": "m-1",
                "contextId": "c-1",
                "taskId": str(NAME.task_id),
                "role": "ROLE_USER",
                "parts": [{"text": "hi"}],
            }
        ],
    }
    assert read_task(text).context_id == "c-1"


@pytest.mark.parametrize("state", list(TaskState))
def test_every_state_has_its_wire_name(state: TaskState) -> None:
    """S60."""
    status = documents.status(state, at=NOW)

    assert status.state.value == f"TASK_STATE_{state.name}"


@pytest.mark.parametrize(
    ("length", "kept"),
    [
        (None, ["a", "b", "c"]),  # unset: everything kept
        (0, []),  # the member is left out
        (1, ["c"]),
        (2, ["b", "c"]),
        (3, ["a", "b", "c"]),
        (99, ["a", "b", "c"]),  # more than there is
    ],
)
def test_history_length_takes_the_last(length: int | None, kept: list[str]) -> None:
    """S63, B044."""
    document = make_document("a", "b", "c")

    text = documents.task_text(document, history_length=length)

    assert texts_of(read_task(text)) == kept
    assert ("history" in json.loads(text)) is bool(kept)
    assert len(read_task(documents.task_text(document)).history) == 3


def test_awkward_text_does_not_break_the_slicing() -> None:
    """S63: line breaks and separators inside a text are no separators."""
    awkward = 'a,\n{"x":1},\n]\u2028\u2029\x85\r\n'
    document = make_document("first", awkward, awkward + "!")

    task = read_task(documents.task_text(document, history_length=2))

    assert texts_of(task) == [awkward, awkward + "!"]


def test_history_keeps_the_most_recent_hundred() -> None:
    """S63."""
    document = make_document(*(str(n) for n in range(103)))

    task = read_task(documents.task_text(document))

    assert texts_of(task) == [str(n) for n in range(3, 103)]


def test_artifacts_are_joined_in_their_order() -> None:
    """S62."""
    outputs = [text_output("one"), text_output("two", name="Second")]
    artifacts = [documents.artifact(o, number=n) for n, o in enumerate(outputs, 1)]

    array = documents.with_artifacts(None, artifacts[:1])
    array = documents.with_artifacts(array, artifacts[1:])

    task = read_task(documents.task_text(replace(make_document(), artifacts=array)))
    assert [a.parts[0].text for a in task.artifacts] == ["one", "two"]
    assert [a.artifact_id for a in task.artifacts] == ["artifact-1", "artifact-2"]
    assert task.artifacts[1].name == "Second"
    assert documents.count_artifacts(array) == 2


@pytest.mark.parametrize("array", [None, documents.EMPTY])
def test_no_artifacts_means_no_member(array: str | None) -> None:
    """B079."""
    document = replace(make_document(), artifacts=array)

    assert "artifacts" not in json.loads(documents.task_text(document))
    assert documents.count_artifacts(array) == 0


@pytest.mark.parametrize(
    ("part", "written"),
    [
        (TextPart(text="x"), {"text": "x"}),
        (TextPart(text=""), {"text": ""}),
        (
            TextPart(text="# x", media_type="text/markdown"),
            {"text": "# x", "mediaType": "text/markdown"},
        ),
        (DataPart(data={"a": [1, None]}), {"data": {"a": [1, None]}}),
        (DataPart(data=None), {"data": None}),  # null is a value here
        (
            FilePart(raw=b"\xfb\xff", media_type="a/b", filename="f.bin"),
            {"raw": "+/8=", "filename": "f.bin", "mediaType": "a/b"},
        ),
        (
            FilePart(url="https://x.example/y", media_type="text/plain"),
            {"url": "https://x.example/y", "mediaType": "text/plain"},
        ),
    ],
)
def test_part_is_written_as_its_kind(part: Any, written: dict[str, Any]) -> None:
    """S62."""
    artifact = documents.artifact(Output(parts=(part,)), number=1)

    text = proto_json.write_text(artifact)

    assert json.loads(text)["parts"] == [written]
    assert proto_json.read(types.Artifact, load_json(text.encode())) == artifact


def test_cleans_what_a_handler_made() -> None:
    """S15, B013."""
    output = Output(
        parts=(
            TextPart(text="a\x00b\ud800"),
            DataPart(data={"\x00": ["\udfff", 1e999]}),
        ),
        name="\x00",
        description="\ud801",
        metadata={"k\x00": "\x00"},
    )

    text = proto_json.write_text(documents.artifact(output, number=1))

    assert json.loads(text) == {
        "artifactId": "artifact-1",
        "name": "\ufffd",
        "description": "\ufffd",
        "parts": [
            {"text": "a\ufffdb\ufffd"},
            {"data": {"\ufffd": ["\ufffd", None]}},
        ],
        "metadata": {"k\ufffd": "\ufffd"},
    }


def test_data_nested_too_deep_travels_as_text() -> None:
    """S15: what a peer would not read is not lost, and does not undo the move."""
    deep: Any = "x"
    for _ in range(70):
        deep = [deep]

    artifact = documents.artifact(
        Output(parts=(DataPart(data=deep),), metadata={"deep": deep}), number=1
    )

    assert artifact.parts[0].text == "[" * 70 + '"x"' + "]" * 70
    assert artifact.parts[0].media_type == "application/json"
    assert artifact.metadata is None


def test_output_without_parts_still_has_one() -> None:
    """B049, specification 5.7."""
    artifact = documents.artifact(Output(parts=()), number=1)

    assert [part.text for part in artifact.parts] == [""]


def test_agent_message_carries_all_ids() -> None:
    """S60."""
    message = documents.agent_sentence("Done.", name=NAME, message_id="a-1")

    assert json.loads(proto_json.write_text(message)) == {
        "messageId": "a-1",
        "contextId": "c-1",
        "taskId": str(NAME.task_id),
        "role": "ROLE_AGENT",
        "parts": [{"text": "Done."}],
    }


def test_new_status_replaces_the_head_only() -> None:
    """S60."""
    document = make_document("a", "b")
    message = documents.agent_sentence("Why.", name=NAME, message_id="a-1")
    status = documents.status(TaskState.FAILED, at=NOW, message=message)

    head = documents.head(NAME, status)
    task = read_task(documents.task_text(replace(document, head=head)))

    assert task.status == status
    assert texts_of(task) == ["a", "b"]


def test_events_are_stream_responses() -> None:
    """S80: each event is a StreamResponse with exactly one member."""
    artifact = documents.artifact(text_output("x"), number=1)
    status = documents.status(TaskState.WORKING, at=NOW)
    task_text = documents.task_text(make_document())
    events = {
        "task": documents.task_event(task_text),
        "status_update": documents.status_event(status, name=NAME),
        "artifact_update": documents.artifact_event(artifact, name=NAME),
    }

    for kind, text in events.items():
        event = proto_json.read(types.StreamResponse, load_json(text.encode()))
        assert event.kind == kind
    assert json.loads(events["artifact_update"])["artifactUpdate"]["lastChunk"] is True


def test_every_failure_has_a_sentence() -> None:
    """S60: one fixed sentence for each reason a run can fail with."""
    never_failed = {
        EndReason.COMPLETED,
        EndReason.CANCELED,
        EndReason.INPUT_REJECTED,
    }

    assert set(documents.FAILURE_SENTENCES) == set(EndReason) - never_failed
    for sentence in documents.FAILURE_SENTENCES.values():
        assert sentence.endswith(".")
        assert "_" not in sentence


@pytest.mark.parametrize(
    ("details", "text"),
    [("", "Why?\nA text."), ("one\ntwo", "Why?\n\none\ntwo\n\nA text.")],
)
def test_a_question_tells_its_details_to_people_and_programs(
    details: str, text: str
) -> None:
    """S60."""
    question = Question(text="Why?", details=details)
    asked = open_question(question, key="k", asked_by=["k"])

    message = documents.question(asked, name=NAME, message_id="m")

    [told] = (message.metadata or {}).values()
    assert isinstance(told, dict)
    assert message.parts[0].text == text
    assert told.get("details", "") == details
    assert ("details" in told) is bool(details)
