from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from a2a_protocol import jsonrpc
from a2a_protocol.errors import ErrorCode, ProtocolError, invalid_params
from a2a_protocol.jsonrpc import NULL_ID, RequestId

if TYPE_CHECKING:
    from a2a_protocol.json_text import JSONValue


def body(**members: object) -> bytes:
    return json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "GetTask"} | members
    ).encode()


def with_id(text: str) -> bytes:
    return f'{{"jsonrpc":"2.0","id":{text},"method":"GetTask"}}'.encode()


def refusal(request: bytes) -> ProtocolError:
    with pytest.raises(ProtocolError) as caught:
        jsonrpc.parse_request(request)
    return caught.value


def params_refusal(request: bytes) -> ProtocolError:
    parsed = jsonrpc.parse_request(request)
    with pytest.raises(ProtocolError) as caught:
        jsonrpc.params_object(parsed)
    return caught.value


def test_reads_a_request() -> None:
    request = jsonrpc.parse_request(body(params={"id": "x"}, futureMember=1))

    assert request.id == RequestId(json="1")
    assert request.method == "GetTask"
    assert request.params == {"id": "x"}


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "-0",
        "1",
        "-17",
        "123456789012345678901234567890",
        "1" + "0" * 308,
        '""',
        '"1"',
        '"ä😀"',
        '"a\\"b"',
        '"' + "x" * 255 + '"',
        "null",
    ],
)
def test_echoes_an_id_as_it_came(text: str) -> None:
    """S12."""
    request = jsonrpc.parse_request(with_id(text))

    assert request.id.json == text


@pytest.mark.parametrize(
    "request_body",
    [
        pytest.param(b'{"jsonrpc":"2.0","id":0,"method":"a-0"}', id="outside"),
        pytest.param(b'{"jsonrpc":"2.0","id":0,"method":"a","x":[-0]}', id="elsewhere"),
    ],
)
def test_a_zero_without_a_sign_is_echoed_without_one(request_body: bytes) -> None:
    """S12."""
    assert jsonrpc.parse_request(request_body).id.json == "0"


def test_a_request_without_an_id_has_the_id_null() -> None:
    """S12."""
    assert jsonrpc.parse_request(b'{"jsonrpc":"2.0","method":"x"}').id == NULL_ID


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"a":1}', id="object"),
        pytest.param("[1]", id="list"),
        pytest.param("true", id="true"),
        pytest.param("1.0", id="1.0"),
        pytest.param("1e2", id="1e2"),
        pytest.param("-0.0", id="-0.0"),
        pytest.param("9" * 309, id="too large for a double"),
        pytest.param("9" * 5000, id="thousands of digits"),
        pytest.param("1e999", id="infinite"),
        pytest.param('"' + "x" * 256 + '"', id="256 characters"),
        pytest.param('"a\\u0000"', id="U+0000"),
        pytest.param('"\\ud800"', id="half a surrogate pair"),
    ],
)
def test_refuses_an_id_that_it_cannot_echo(text: str) -> None:
    """S12, B003."""
    error = refusal(with_id(text))

    assert error.code is ErrorCode.INVALID_REQUEST
    assert error.request_id == NULL_ID


@pytest.mark.parametrize(
    "request_body",
    [
        pytest.param(
            b'{"id":1,"method":"GetTask","params":{"id":"X"}}', id="no jsonrpc"
        ),
        pytest.param(body(jsonrpc="1.0"), id="1.0"),
        pytest.param(body(jsonrpc=2.0), id="a number"),
        pytest.param(body(jsonrpc=None), id="null"),
        pytest.param(b'{"jsonrpc":"2.0","id":1}', id="no method"),
        pytest.param(body(method=5), id="method is a number"),
        pytest.param(body(method=None), id="method is null"),
        pytest.param(body(method="a\x00"), id="U+0000 in the method"),
        pytest.param(body(future={"a": "\ud800"}), id="surrogate in another member"),
        pytest.param(
            b'{"jsonrpc":"2.0","id":1,"method":"x","y":1e999}', id="number elsewhere"
        ),
        pytest.param(
            b'{"jsonrpc":"2.0","id":1,"method":"GetTask","method":"CancelTask"}',
            id="two methods",
        ),
        pytest.param(
            b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"id":"X","id":"Y"}}',
            id="two ids in params",
        ),
    ],
)
def test_names_the_id_of_a_request_that_it_refuses(request_body: bytes) -> None:
    """S12, S15, B003, B008."""
    error = refusal(request_body)

    assert error.code is ErrorCode.INVALID_REQUEST
    assert error.request_id == RequestId(json="1")


def test_an_id_given_twice_is_not_read() -> None:
    """S15, B008."""
    error = refusal(b'{"jsonrpc":"2.0","id":1,"id":1,"method":"x"}')

    assert error.code is ErrorCode.INVALID_REQUEST
    assert error.request_id in {None, NULL_ID}


@pytest.mark.parametrize(
    "request_body",
    [
        pytest.param(b"[]", id="empty batch"),
        pytest.param(b"[1]", id="batch of a number"),
        pytest.param(b"[" + body() + b"," + body() + b"]", id="batch of requests"),
        pytest.param(b"[" + b",".join([body()] * 10_000) + b"]", id="large batch"),
        pytest.param(b'[{"id":1,"id":2}]', id="batch with a repeated name"),
        pytest.param(b'"text"', id="string"),
        pytest.param(b"7", id="number"),
        pytest.param(b"null", id="null"),
    ],
)
def test_refuses_what_is_no_object_as_a_whole(request_body: bytes) -> None:
    """S12, B006."""
    error = refusal(request_body)

    assert error.code is ErrorCode.INVALID_REQUEST
    assert error.request_id == NULL_ID


def test_a_body_that_is_no_json_has_no_id() -> None:
    """S15, B001."""
    error = refusal(b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{')

    assert error.code is ErrorCode.PARSE
    assert error.request_id is None


@pytest.mark.parametrize(
    ("members", "params"),
    [
        pytest.param({}, {}, id="absent"),
        pytest.param({"params": None}, {}, id="null"),
        pytest.param({"params": {}}, {}, id="empty"),
        pytest.param({"params": {"a": "😀"}}, {"a": "😀"}, id="with an escaped emoji"),
    ],
)
def test_reads_params(members: dict[str, object], params: JSONValue) -> None:
    """S12, B005."""
    request = jsonrpc.parse_request(body(**members))

    assert jsonrpc.params_object(request) == params


@pytest.mark.parametrize("params", [[1, 2], "x", 42, False])
def test_refuses_params_that_are_no_object(params: object) -> None:
    """S12, B005."""
    error = params_refusal(body(params=params))

    assert error.code is ErrorCode.INVALID_PARAMS
    assert error.request_id == RequestId(json="1")


@pytest.mark.parametrize(
    ("params", "path"),
    [
        pytest.param(
            '{"message":{"parts":[{"text":"a\\u0000b"}]}}', "message.parts[0].text"
        ),
        pytest.param('{"message":{"messageId":"m\\u0000"}}', "message.messageId"),
        pytest.param(
            '{"message":{"parts":[{"text":"\\ud800"}]}}', "message.parts[0].text"
        ),
        pytest.param(
            '{"message":{"metadata":{"\\u0000":1}}}', "message.metadata.\ufffd"
        ),
        pytest.param('{"message":{"metadata":{"x":1e999}}}', "message.metadata.x"),
        pytest.param('{"pageToken":"\\u0000"}', "pageToken"),
    ],
)
def test_says_where_params_hold_a_bad_value(params: str, path: str) -> None:
    """S15, B009, B013: only when params are read, so the version is judged before."""
    request = f'{{"jsonrpc":"2.0","id":1,"method":"x","params":{params}}}'.encode()

    error = params_refusal(request)

    assert error.code is ErrorCode.INVALID_PARAMS
    assert [violation.field for violation in error.violations] == [path]
    assert error.request_id == RequestId(json="1")


def test_walks_params_that_nobody_has_vouched_for() -> None:
    """S15."""
    request = jsonrpc.Request(id=NULL_ID, method="x", params={"a": "\x00"})

    with pytest.raises(ProtocolError) as caught:
        jsonrpc.params_object(request)

    assert caught.value.code is ErrorCode.INVALID_PARAMS


def test_joins_a_result_as_text() -> None:
    reply = jsonrpc.result_bytes(RequestId(json="-0"), '{"a": "ä"}')

    assert reply == '{"jsonrpc":"2.0","id":-0,"result":{"a": "ä"}}'.encode()


@pytest.mark.parametrize(
    ("given", "carried", "written"),
    [
        pytest.param(RequestId(json="7"), None, "7", id="given"),
        pytest.param(RequestId(json="7"), RequestId(json="8"), "7", id="given wins"),
        pytest.param(None, RequestId(json='"a"'), '"a"', id="carried by the error"),
        pytest.param(None, None, "null", id="unknown"),
    ],
)
def test_writes_an_error(
    given: RequestId | None, carried: RequestId | None, written: str
) -> None:
    error = invalid_params("ä", "Wrong.", request_id=carried)

    reply = jsonrpc.error_bytes(given, error).decode()

    assert reply.startswith(
        f'{{"jsonrpc":"2.0","id":{written},"error":{{"code":-32602,'
    )
    assert json.loads(reply)["error"]["data"][0]["fieldViolations"][0]["field"] == "ä"
