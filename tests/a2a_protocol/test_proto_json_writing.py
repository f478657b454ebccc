from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from a2a_protocol import proto_json
from a2a_protocol.errors import LocalError
from a2a_protocol.types import (
    AgentCapabilities,
    AgentProvider,
    Artifact,
    GetTaskRequest,
    ListTasksRequest,
    ListTasksResponse,
    Message,
    Part,
    Role,
    SecurityScheme,
    SendMessageConfiguration,
    SendMessageResponse,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    WireModel,
)

if TYPE_CHECKING:
    from a2a_protocol.json_text import JSONValue

WORKING = TaskStatus(state=TaskState.TASK_STATE_WORKING)
MESSAGE = Message(message_id="m", role=Role.ROLE_AGENT, parts=(Part(text="hi"),))


@pytest.mark.parametrize(
    ("model", "written"),
    [
        pytest.param(
            Task(id="t", status=WORKING),
            {"id": "t", "status": {"state": "TASK_STATE_WORKING"}},
            id="unset members are left out",
        ),
        pytest.param(
            Task(id="", status=TaskStatus(state=TaskState.TASK_STATE_UNSPECIFIED)),
            {"id": "", "status": {"state": "TASK_STATE_UNSPECIFIED"}},
            id="required members are there even when empty",
        ),
        pytest.param(
            ListTasksResponse(tasks=(), next_page_token="", page_size=0, total_size=0),
            {"tasks": [], "nextPageToken": "", "pageSize": 0, "totalSize": 0},
            id="all four members of a list of tasks",
        ),
        pytest.param(
            Artifact(artifact_id="a", parts=()),
            {"artifactId": "a", "parts": []},
            id="required list",
        ),
        pytest.param(
            GetTaskRequest(id="t", history_length=0),
            {"id": "t", "historyLength": 0},
            id="zero that is set",
        ),
        pytest.param(
            ListTasksRequest(include_artifacts=False),
            {"includeArtifacts": False},
            id="false that is set",
        ),
        pytest.param(
            AgentCapabilities(streaming=False, push_notifications=False),
            {"streaming": False, "pushNotifications": False},
            id="capability flags",
        ),
        pytest.param(
            SendMessageConfiguration(return_immediately=False),
            {},
            id="false without presence",
        ),
        pytest.param(
            AgentProvider(url="", organization=""),
            {"url": "", "organization": ""},
            id="empty strings",
        ),
        pytest.param(Part(text=""), {"text": ""}, id="empty content"),
        pytest.param(Part(data=None), {"data": None}, id="null content"),
        pytest.param(
            Part(text="a", data=None), {"text": "a"}, id="no null beside text"
        ),
        pytest.param(Part(raw=b"\xfb\xff"), {"raw": "+/8="}, id="bytes"),
        pytest.param(
            Part(text="a", metadata={}),
            {"text": "a", "metadata": {}},
            id="empty object",
        ),
        pytest.param(
            TaskStatus(
                state=TaskState.TASK_STATE_CANCELED,
                timestamp=datetime(2026, 1, 2, 3, 4, 5, 678999, tzinfo=UTC),
            ),
            {"state": "TASK_STATE_CANCELED", "timestamp": "2026-01-02T03:04:05.678Z"},
            id="moment, and one L",
        ),
        pytest.param(
            TaskArtifactUpdateEvent(
                task_id="t",
                context_id="c",
                artifact=Artifact(artifact_id="a", parts=(Part(text="x"),)),
                append=True,
                last_chunk=True,
            ),
            {
                "taskId": "t",
                "contextId": "c",
                "artifact": {"artifactId": "a", "parts": [{"text": "x"}]},
                "append": True,
                "lastChunk": True,
            },
            id="chunk",
        ),
    ],
)
def test_writes(model: WireModel, written: JSONValue) -> None:
    """S13, B025, B028, B079."""
    assert proto_json.write(model) == written


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(Part(), id="no content"),
        pytest.param(Part(text="a", url="b"), id="two contents"),
        pytest.param(Part(text="a", data=0), id="text and data"),
        pytest.param(SendMessageResponse(), id="no answer"),
        pytest.param(StreamResponse(), id="no event"),
        pytest.param(
            SendMessageResponse(task=Task(id="t", status=WORKING), message=MESSAGE),
            id="two answers",
        ),
        pytest.param(SecurityScheme(), id="no scheme"),
        pytest.param(
            MESSAGE.model_copy(update={"parts": (Part(),)}), id="inside a message"
        ),
    ],
)
def test_does_not_write_other_than_one_member_of_a_oneof(model: WireModel) -> None:
    with pytest.raises(LocalError):
        proto_json.write(model)


def test_writes_text() -> None:
    assert proto_json.write_text(Part(text="ä", media_type="text/plain")) == (
        '{"text":"ä","mediaType":"text/plain"}'
    )


def test_does_not_write_numbers_that_json_does_not_have() -> None:
    """B009."""
    with pytest.raises(LocalError):
        proto_json.write_text(Part(data=float("nan")))
