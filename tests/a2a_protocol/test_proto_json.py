"""Reading requests. What a remote agent sent is in ``test_proto_json_lenient``."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from a2a_protocol import proto_json
from a2a_protocol.errors import ErrorCode, ProtocolError
from a2a_protocol.methods import METHODS
from a2a_protocol.types import (
    AgentCard,
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SecurityScheme,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
    WireModel,
)
from tests.a2a_protocol.proto_facts import FIXTURES

if TYPE_CHECKING:
    from pathlib import Path

    from a2a_protocol.json_text import JSONValue

CASES = sorted((FIXTURES / "wire" / "1.0").glob("*/*.json"))


def message(**members: Any) -> dict[str, JSONValue]:
    return {
        "messageId": "m-1",
        "role": "ROLE_USER",
        "parts": [{"text": "hi"}],
    } | members


def without(name: str) -> dict[str, JSONValue]:
    return {key: value for key, value in message().items() if key != name}


def read_send(**members: Any) -> SendMessageRequest:
    return proto_json.read(SendMessageRequest, {"message": message()} | members)


def read_part(part: JSONValue) -> Part:
    return read_send(message=message(parts=[part])).message.parts[0]


def refused_fields(model: type[WireModel], value: JSONValue) -> list[str]:
    with pytest.raises(ProtocolError) as caught:
        proto_json.read(model, value)
    assert caught.value.code is ErrorCode.INVALID_PARAMS
    return [violation.field for violation in caught.value.violations]


def refused_send(**members: Any) -> list[str]:
    return refused_fields(SendMessageRequest, {"message": message()} | members)


@pytest.mark.parametrize(
    "case", CASES, ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_reads_and_writes_each_sample(case: Path) -> None:
    sample = json.loads(case.read_text())
    method = METHODS[case.parent.name]
    results = sample["result"] if method.streaming else [sample["result"]]
    assert method.response_type is not None

    params = proto_json.read(method.request_type, sample["params"])
    replies = [proto_json.read(method.response_type, result) for result in results]

    assert proto_json.write(params) == sample["params"]
    assert [proto_json.write(reply) for reply in replies] == results


def test_reads_names_in_snake_case_too() -> None:
    """S13."""
    request = read_send(
        message={"message_id": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]},
        configuration={"return_immediately": True, "history_length": 3},
    )

    assert request.message.message_id == "m"
    assert request.configuration is not None
    assert request.configuration.return_immediately
    assert request.configuration.history_length == 3


@pytest.mark.parametrize(
    "members",
    [
        pytest.param({"contextId": "c", "context_id": "c"}, id="camelCase first"),
        pytest.param({"context_id": "c", "contextId": "c"}, id="snake_case first"),
        pytest.param({"context_id": None, "contextId": "c"}, id="one is null"),
        pytest.param({"context_id": 5, "contextId": None}, id="one is wrong as well"),
    ],
)
def test_refuses_both_spellings_of_one_field(members: dict[str, Any]) -> None:
    """S15."""
    with pytest.raises(ProtocolError) as caught:
        read_send(message=message(**members))

    assert caught.value.code is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    "members",
    [
        pytest.param({"futureField": {"a": 1}}, id="beside the message"),
        pytest.param({"message": message(futureField={"a": 1})}, id="in the message"),
        pytest.param(
            {"message": message(parts=[{"text": "hi", "futureField": {"a": 1}}])},
            id="in a part",
        ),
        pytest.param({"configuration": {"futureField": 1}}, id="in the configuration"),
        pytest.param({"configuration": {"blocking": False}}, id="0.3's blocking"),
        pytest.param(
            {"configuration": {"pushNotificationConfig": {"url": "x"}}},
            id="push config of older prose",
        ),
        pytest.param(
            {
                "message": message(
                    kind="message", parts=[{"kind": "text", "text": "hi"}]
                )
            },
            id="kind of older prose",
        ),
    ],
)
def test_ignores_unknown_members(members: dict[str, Any]) -> None:
    """S13, B021. Prose against proto: push config, part."""
    request = read_send(**members)

    assert request.message == read_send().message
    assert (
        request.configuration is None
        or request.configuration == type(request.configuration)()
    )


@pytest.mark.parametrize("name", ["messageId", "role", "parts"])
def test_names_a_required_member_that_is_missing(name: str) -> None:
    """B023."""
    assert refused_send(message=without(name)) == [f"message.{name}"]


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"parts": []}, "message.parts"),
        ({"parts": None}, "message.parts"),
        ({"messageId": ""}, "message.messageId"),
        ({"messageId": "  "}, "message.messageId"),
        ({"messageId": "\u2003\t"}, "message.messageId"),
        ({"messageId": None}, "message.messageId"),
        ({"messageId": "x" * 10_000}, "message.messageId"),
        ({"messageId": 5}, "message.messageId"),
        ({"role": "user"}, "message.role"),
        ({"role": "role_user"}, "message.role"),
        ({"role": "ROLE_UNSPECIFIED"}, "message.role"),
        ({"role": 0}, "message.role"),
        ({"role": 7}, "message.role"),
        ({"role": "UNRECOGNIZED"}, "message.role"),
        ({"contextId": "x" * 129}, "message.contextId"),
        ({"contextId": "a\nb"}, "message.contextId"),
        ({"contextId": 5}, "message.contextId"),
        ({"parts": {"text": "hi"}}, "message.parts"),
        ({"parts": "hi"}, "message.parts"),
        ({"parts": [None]}, "message.parts[0]"),
        ({"parts": [{"text": "a"}, "b"]}, "message.parts[1]"),
        ({"metadata": []}, "message.metadata"),
        ({"extensions": "x"}, "message.extensions"),
        ({"referenceTaskIds": ["a", 5]}, "message.referenceTaskIds[1]"),
        ({"reference_task_ids": ["a", None]}, "message.referenceTaskIds[1]"),
    ],
)
def test_refuses_a_message_by_field(members: dict[str, Any], field: str) -> None:
    """S12, S13, S42, S49, B023, B024, B025, B026, B029."""
    assert refused_send(message=message(**members)) == [field]


@pytest.mark.parametrize(
    "message_id", ["msg-1", "../../x", "😀", "x" * 255, " m ", "7", "a\nb"]
)
def test_a_message_id_is_any_text_that_is_not_blank(message_id: str) -> None:
    """S42, B024."""
    request = read_send(message=message(messageId=message_id))

    assert request.message.message_id == message_id


@pytest.mark.parametrize("context_id", ["x" * 128, "../../x", "ä b", ""])
def test_a_context_id_is_kept(context_id: str) -> None:
    """S49, B024."""
    request = read_send(message=message(contextId=context_id))

    assert request.message.context_id == context_id


@pytest.mark.parametrize(
    ("written", "role"),
    [
        ("ROLE_USER", Role.ROLE_USER),
        (1, Role.ROLE_USER),
        ("ROLE_AGENT", Role.ROLE_AGENT),
    ],
)
def test_reads_a_role_by_name_and_number(written: JSONValue, role: Role) -> None:
    """B025. That a client is no agent is for the operation to say (S42)."""
    assert read_send(message=message(role=written)).message.role is role


@pytest.mark.parametrize(
    ("params", "fields"),
    [
        pytest.param({}, ["message"], id="nothing"),
        pytest.param({"message": None}, ["message"], id="null"),
        pytest.param({"message": "hi"}, ["message"], id="text"),
        pytest.param(
            {"message": {}},
            ["message.messageId", "message.role", "message.parts"],
            id="empty message",
        ),
        pytest.param(
            {
                "message": {"role": 7, "parts": [{}, {"text": 5}]},
                "configuration": {"historyLength": -1},
            },
            [
                "message.role",
                "message.parts[0]",
                "message.parts[1].text",
                "message.messageId",
                "configuration.historyLength",
            ],
            id="much at once",
        ),
    ],
)
def test_names_every_field_at_once(params: JSONValue, fields: list[str]) -> None:
    """S14, B023."""
    assert refused_fields(SendMessageRequest, params) == fields


def test_names_no_more_fields_than_anyone_reads() -> None:
    refused = refused_send(message=message(extensions=[5] * 1000))

    assert len(refused) == proto_json.MAX_REPORTED


def test_refuses_params_that_are_no_object() -> None:
    assert refused_fields(SendMessageRequest, [1]) == [""]


def test_says_where_the_value_stands() -> None:
    with pytest.raises(ProtocolError) as caught:
        proto_json.read(Message, without("role"), where="params.message")

    assert caught.value.violations[0].field == "params.message.role"


@pytest.mark.parametrize(
    ("part", "kind", "content"),
    [
        ({"text": ""}, "text", ""),
        ({"raw": "-_8"}, "raw", b"\xfb\xff"),
        ({"raw": ""}, "raw", b""),
        ({"url": "https://x.test/y"}, "url", "https://x.test/y"),
        ({"text": None, "url": "https://x.test/y"}, "url", "https://x.test/y"),
        ({"data": {"a": [1, None]}}, "data", {"a": [1, None]}),
        ({"data": None}, "data", None),
        ({"data": 0}, "data", 0),
        ({"data": "a"}, "data", "a"),
    ],
)
def test_reads_the_content_of_a_part(
    part: JSONValue, kind: str, content: object
) -> None:
    """S13, B026, B028, B029."""
    read = read_part(part)

    assert read.kind == kind
    assert getattr(read, kind) == content


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ({"text": "a", "url": "https://x.test/y"}, "message.parts[0]"),
        ({"text": "a", "data": None}, "message.parts[0]"),
        ({}, "message.parts[0]"),
        ({"metadata": {}}, "message.parts[0]"),
        ({"filename": "a.txt"}, "message.parts[0]"),
        ({"text": None}, "message.parts[0]"),
        ({"kind": "file", "file": {"uri": "https://x.test"}}, "message.parts[0]"),
        ({"text": 5}, "message.parts[0].text"),
        ({"raw": "@@@@"}, "message.parts[0].raw"),
        ({"raw": "AB=C"}, "message.parts[0].raw"),
        ({"url": True}, "message.parts[0].url"),
        ({"text": "a", "mediaType": 5}, "message.parts[0].mediaType"),
        ({"text": "a", "media_type": 5}, "message.parts[0].mediaType"),
        ({"text": "a\x00"}, "message.parts[0].text"),
    ],
)
def test_refuses_a_part_by_field(part: JSONValue, field: str) -> None:
    """S13, S15, B026, B028. Prose against proto: part."""
    assert refused_send(message=message(parts=[part])) == [field]


def test_null_is_unset() -> None:
    """S13, B029."""
    request = read_send(
        message=message(
            metadata=None,
            extensions=None,
            referenceTaskIds=None,
            taskId=None,
            contextId=None,
        ),
        configuration=None,
        metadata=None,
        tenant=None,
    )

    assert request == read_send()


def test_an_empty_task_id_is_no_task_id() -> None:
    """B029."""
    assert read_send(message=message(taskId="")) == read_send()


def test_waits_unless_asked_not_to() -> None:
    """Prose against proto: SendMessage blocks by default."""
    configuration = read_send(configuration={}).configuration

    assert configuration is not None
    assert not configuration.return_immediately


def test_reads_a_flat_push_config() -> None:
    """Prose against proto: push config."""
    config = {"url": "https://hook.test/h", "authentication": {"scheme": "Bearer"}}

    request = read_send(configuration={"taskPushNotificationConfig": config})

    assert request.configuration is not None
    read = request.configuration.task_push_notification_config
    assert read is not None
    assert proto_json.write(read) == config


@pytest.mark.parametrize(
    ("config", "fields"),
    [
        ({}, ["url"]),
        ({"url": ""}, ["url"]),
        ({"url": "x", "authentication": {}}, ["authentication.scheme"]),
        ({"url": "x", "authentication": {"scheme": " "}}, ["authentication.scheme"]),
    ],
)
def test_refuses_a_push_config_by_field(config: JSONValue, fields: list[str]) -> None:
    """B023."""
    assert refused_fields(TaskPushNotificationConfig, config) == fields


@pytest.mark.parametrize(
    "model", [GetTaskRequest, CancelTaskRequest, SubscribeToTaskRequest]
)
@pytest.mark.parametrize(
    "params", [{}, {"id": ""}, {"id": "  "}, {"id": None}, {"id": 5}]
)
def test_refuses_a_blank_task_id(model: type[WireModel], params: JSONValue) -> None:
    """S64, B023: -32602, not -32001."""
    assert refused_fields(model, params) == ["id"]


def test_names_both_ids_of_a_push_config() -> None:
    fields = refused_fields(GetTaskPushNotificationConfigRequest, {"taskId": " "})

    assert fields == ["taskId", "id"]


@pytest.mark.parametrize("task_id", ["X", "not-a-uuid", "../../x", "😀"])
def test_a_task_id_is_any_text_that_is_not_blank(task_id: str) -> None:
    """B024."""
    assert proto_json.read(GetTaskRequest, {"id": task_id}).id == task_id


@pytest.mark.parametrize(
    ("written", "read"),
    [(0, 0), (5, 5), ("5", 5), (1.0, 1), (None, None), (2147483647, 2147483647)],
)
def test_tells_a_history_of_zero_from_none(
    written: JSONValue, read: int | None
) -> None:
    """S13, S63."""
    params: JSONValue = {"id": "x", "historyLength": written}

    assert proto_json.read(GetTaskRequest, params).history_length == read


@pytest.mark.parametrize("length", [-1, 1.5, True, "x", 2**31, [], {}])
def test_refuses_other_history_lengths(length: JSONValue) -> None:
    """S13, S63: the same in every operation."""
    wrong: dict[str, JSONValue] = {"historyLength": length}

    assert refused_fields(GetTaskRequest, {"id": "x"} | wrong) == ["historyLength"]
    assert refused_fields(ListTasksRequest, wrong) == ["historyLength"]
    assert refused_send(configuration=wrong) == ["configuration.historyLength"]


@pytest.mark.parametrize(
    ("written", "read"), [(None, None), (1, 1), (100, 100), ("50", 50)]
)
def test_reads_a_page_size(written: JSONValue, read: int | None) -> None:
    """S65, B075."""
    assert proto_json.read(ListTasksRequest, {"pageSize": written}).page_size == read


@pytest.mark.parametrize(
    ("members", "field", "description"),
    [
        ({"parts": [{"text": 5}] * 17}, "parts", "There are over 16 parts."),
        ({"extensions": [5] * 1001}, "extensions", "There are over 1000 extensions."),
    ],
    ids=["parts", "others"],
)
def test_does_not_even_read_the_elements_of_a_list_that_is_too_long(
    members: dict[str, JSONValue], field: str, description: str
) -> None:
    """S42: 78,000 parts fit into a request."""
    with pytest.raises(ProtocolError) as caught:
        read_send(message=message(**members))

    (violation,) = caught.value.violations
    assert violation.field == f"message.{field}"
    assert violation.description == description


def test_reads_as_many_elements_as_there_may_be() -> None:
    read = read_send(
        message=message(parts=[{"text": "x"}] * 16, extensions=["x"] * 1000)
    )

    assert len(read.message.parts) == 16
    assert len(read.message.extensions) == 1000


@pytest.mark.parametrize("size", [0, -1, 101, 100_000, "0", "101"])
def test_refuses_a_page_size_out_of_bounds(size: JSONValue) -> None:
    """S65, B075. Prose against proto: page size."""
    assert refused_fields(ListTasksRequest, {"pageSize": size}) == ["pageSize"]


def test_a_page_size_of_zero_is_unset_for_push_configs() -> None:
    """B079."""
    request = proto_json.read(
        ListTaskPushNotificationConfigsRequest, {"taskId": "x", "pageSize": 0}
    )

    assert request.page_size == 0
    assert proto_json.write(request) == {"taskId": "x"}


@pytest.mark.parametrize(
    ("written", "state"),
    [
        ("TASK_STATE_COMPLETED", TaskState.TASK_STATE_COMPLETED),
        (3, TaskState.TASK_STATE_COMPLETED),
        (0, TaskState.TASK_STATE_UNSPECIFIED),
        (None, TaskState.TASK_STATE_UNSPECIFIED),
        ("TASK_STATE_UNSPECIFIED", TaskState.TASK_STATE_UNSPECIFIED),
        ("UNRECOGNIZED", TaskState.TASK_STATE_UNSPECIFIED),
    ],
)
def test_reads_a_state_to_filter_by(written: JSONValue, state: TaskState) -> None:
    """S13, B025: unspecified is no filter."""
    assert proto_json.read(ListTasksRequest, {"status": written}).status is state


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status", "completed"),
        ("status", "input-required"),
        ("status", "TASK_STATE_CANCELLED"),
        ("status", 99),
        ("statusTimestampAfter", "2026-01-02T03:04:05"),
        ("statusTimestampAfter", "2026-01-02"),
        ("statusTimestampAfter", "2026-02-30T00:00:00Z"),
        ("statusTimestampAfter", "2026-01-02T23:59:60Z"),
        ("statusTimestampAfter", "10000-01-01T00:00:00Z"),
        ("statusTimestampAfter", "1767323045"),
        ("statusTimestampAfter", 1767323045),
        ("includeArtifacts", "true"),
        ("includeArtifacts", 1),
        ("pageToken", 5),
        ("contextId", {"a": 1}),
    ],
)
def test_refuses_a_filter_by_field(name: str, value: JSONValue) -> None:
    """S13, B025, B031. Prose against proto: enum spelling."""
    assert refused_fields(ListTasksRequest, {name: value}) == [name]


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-02T03:04:05.123456789Z",
        "2026-01-02T05:04:05.123456+02:00",
    ],
)
def test_reads_a_moment_to_filter_by(text: str) -> None:
    """S13, B031."""
    request = proto_json.read(ListTasksRequest, {"statusTimestampAfter": text})

    assert request.status_timestamp_after == datetime(
        2026, 1, 2, 3, 4, 5, 123456, tzinfo=UTC
    )


def test_tells_no_artifacts_from_no_wish() -> None:
    """S13."""
    unset = proto_json.read(ListTasksRequest, {})
    refused = proto_json.read(ListTasksRequest, {"includeArtifacts": False})

    assert (unset.include_artifacts, refused.include_artifacts) == (None, False)


def test_get_extended_agent_card_needs_no_params() -> None:
    """B005."""
    request = proto_json.read(GetExtendedAgentCardRequest, {})

    assert request == GetExtendedAgentCardRequest()


def test_a_card_may_have_no_skills_but_has_to_say_so() -> None:
    """Prose against proto: required lists."""
    card = json.loads(
        (FIXTURES / "wire/1.0/GetExtendedAgentCard/no_skills.json").read_text()
    )["result"]

    assert proto_json.read(AgentCard, card).skills == ()
    assert refused_fields(AgentCard, {**card, "skills": None}) == ["skills"]


def test_reads_the_extended_card_flag_from_the_capabilities() -> None:
    """Prose against proto: extended card flag."""
    card = json.loads(
        (FIXTURES / "wire/1.0/GetExtendedAgentCard/no_skills.json").read_text()
    )["result"]
    old = {**card, "capabilities": {}, "supportsAuthenticatedExtendedCard": True}

    assert proto_json.read(AgentCard, card).capabilities.extended_agent_card is True
    assert proto_json.read(AgentCard, old).capabilities.extended_agent_card is None


@pytest.mark.parametrize(
    ("scheme", "fields"),
    [
        pytest.param({}, [""], id="no scheme"),
        pytest.param(
            {
                "oauth2SecurityScheme": {
                    "flows": {
                        "clientCredentials": {"tokenUrl": "x", "scopes": {"a": 5}}
                    }
                }
            },
            ["oauth2SecurityScheme.flows.clientCredentials.scopes.a"],
            id="scope that is no text",
        ),
        pytest.param(
            {
                "oauth2SecurityScheme": {
                    "flows": {"clientCredentials": {"tokenUrl": "x", "scopes": []}}
                }
            },
            ["oauth2SecurityScheme.flows.clientCredentials.scopes"],
            id="scopes that are no map",
        ),
        pytest.param(
            {
                "oauth2SecurityScheme": {
                    "flows": {
                        "clientCredentials": {"tokenUrl": "x", "scopes": {"\ud800": ""}}
                    }
                }
            },
            ["oauth2SecurityScheme.flows.clientCredentials.scopes.\ufffd"],
            id="name that is no text",
        ),
    ],
)
def test_refuses_a_security_scheme_by_field(
    scheme: JSONValue, fields: list[str]
) -> None:
    assert refused_fields(SecurityScheme, scheme) == fields
