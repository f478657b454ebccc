from __future__ import annotations

import json
from typing import Any

import pytest

from a2a_protocol import errors, jsonrpc, jsonrpc_client
from a2a_protocol.errors import ErrorCode, RemoteError
from a2a_protocol.jsonrpc import RequestId
from a2a_protocol.jsonrpc_client import Reply, ReplyError, read_reply

ID = "call-1"


def body(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": ID} | members).encode()


def refusal(reply: bytes) -> str:
    with pytest.raises(RemoteError) as caught:
        read_reply(reply, ID)
    assert caught.value.code is ErrorCode.INVALID_AGENT_RESPONSE
    return caught.value.message


def test_a_request_is_one_that_the_server_side_reads() -> None:
    written = jsonrpc_client.request_bytes('a"b', "GetTask", '{"id":"x"}')

    request = jsonrpc.parse_request(written)

    assert request.id == RequestId(json='"a\\"b"')
    assert request.method == "GetTask"
    assert request.params == {"id": "x"}


def test_reads_a_result_and_passes_over_unknown_members() -> None:
    assert read_reply(body(result={"a": 1}, new=2), ID) == Reply(result={"a": 1})


def test_reads_a_reply_that_the_server_side_wrote() -> None:
    error = errors.ProtocolError(code=ErrorCode.TASK_NOT_FOUND, reason="GONE")
    written = jsonrpc.error_bytes(RequestId(json=f'"{ID}"'), error)

    assert read_reply(written, ID).error == ReplyError(
        code=-32001,
        message="There is no such task.",
        reasons=("TASK_NOT_FOUND", "GONE"),
    )


@pytest.mark.parametrize(
    "members",
    [
        {"result": {}, "error": None},
        {"result": {}, "jsonrpc": None},
        {"result": {}, "jsonrpc": "1.0"},
    ],
)
def test_a_careless_result_is_still_one(members: dict[str, Any]) -> None:
    assert read_reply(body(**members), ID) == Reply(result={})


def test_an_error_beside_a_null_result_is_an_error() -> None:
    reply = read_reply(body(result=None, error={"code": -1}), ID)

    assert reply == Reply(error=ReplyError(code=-1))


def test_ignores_a_byte_order_mark() -> None:
    assert read_reply(b"\xef\xbb\xbf" + body(result={}), ID) == Reply(result={})


@pytest.mark.parametrize(
    "reply",
    [
        # An error that was found before the id could be read.
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}',
        b'{"jsonrpc":"2.0","error":{"code":-32700,"message":"?"}}',
    ],
)
def test_an_error_may_have_no_id(reply: bytes) -> None:
    assert read_reply(reply, ID).error == ReplyError(code=-32700, message="?")


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (b"", "The body cannot be read as JSON."),
        (b"<html>", "The body cannot be read as JSON."),
        (b"\xff", "The body is not UTF-8."),
        (b"null", "The reply is not one JSON object."),
        (b"[]", "The reply is not one JSON object."),
        (b'"text"', "The reply is not one JSON object."),
        (b'{"id":"call-1","id":"call-1"}', "The reply names a member twice."),
        (b"{}", "The reply needs either a result or an error."),
        (body(), "The reply needs either a result or an error."),
        (body(result=None), "The reply needs either a result or an error."),
        (
            body(result={}, error={"code": 1}),
            "The reply needs either a result or an error.",
        ),
        (body(result="done"), "The result is not an object."),
        (body(result=[]), "The result is not an object."),
        (body(result=False), "The result is not an object."),
        (body(result={}, id="call-2"), "The reply has the id of another request."),
        (body(result={}, id=None), "The reply has the id of another request."),
        (body(result={}, id=1), "The reply has the id of another request."),
        (
            body(error={"code": 1}, id="call-2"),
            "The reply has the id of another request.",
        ),
        # Google's and others' own bodies for errors, which are no JSON-RPC.
        (b'{"error":{"code":404}}', "The reply has the id of another request."),
        (body(error="bad"), "The error has no code."),
        (body(error={}), "The error has no code."),
        (body(error={"code": "1"}), "The error has no code."),
        (body(error={"code": True}), "The error has no code."),
        (body(error={"code": 1.5}), "The error has no code."),
        (body(error={"code": 10**12}), "The code of the error is too large."),
    ],
)
def test_refuses_what_is_no_reply(reply: bytes, sentence: str) -> None:
    assert refusal(reply) == sentence


def test_refuses_a_number_for_an_id_that_only_looks_the_same() -> None:
    with pytest.raises(RemoteError):
        read_reply(body(id=1, result={}), "1")


def test_every_truncation_is_refused() -> None:
    whole = body(result={"task": {"id": "ä", "n": [1, 2]}})

    for length in range(len(whole)):
        refusal(whole[:length])


def test_the_message_is_made_storable_and_cut() -> None:
    error = read_reply(body(error={"code": 1, "message": "a\x00" + "b" * 5000}), ID)

    assert error.error is not None
    assert error.error.message == "a\ufffd" + "b" * 1998


@pytest.mark.parametrize("message", [None, 5, ["x"], {}])
def test_a_message_that_is_no_text_is_empty(message: object) -> None:
    reply = read_reply(body(error={"code": 1, "message": message}), ID)

    assert reply.error == ReplyError(code=1)


INFO = "type.googleapis.com/google.rpc.ErrorInfo"


@pytest.mark.parametrize(
    ("data", "reasons"),
    [
        ([{"@type": INFO, "reason": "A_1"}, {"@type": INFO, "reason": "B"}], "A_1 B"),
        ({"@type": INFO, "reason": "A"}, "A"),
        ([{"@type": "google.rpc.BadRequest", "reason": "A"}], ""),
        ([{"@type": 5, "reason": "A"}, {"reason": "A"}, "A", None], ""),
        ([{"@type": INFO, "reason": "lower"}, {"@type": INFO, "reason": 5}], ""),
        ([{"@type": INFO, "reason": "A" * 64}], ""),
        ("A", ""),
        (None, ""),
        ([{"@type": INFO, "reason": "A"}] * 17, " ".join("A" * 16)),
    ],
)
def test_keeps_the_reasons_of_error_info(data: object, reasons: str) -> None:
    reply = read_reply(body(error={"code": 1, "data": data}), ID)

    assert reply.error == ReplyError(code=1, reasons=tuple(reasons.split()))
