from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from a2a_protocol import jsonrpc
from a2a_protocol.cards import PROFILE_EXTENSION_URI
from a2a_protocol.errors import ProtocolError
from a2a_protocol.methods import METHODS
from a2a_server.operations.table import OPERATIONS
from tests import factories
from tests.asgi_peer import ask, ask_once, make_scope, rpc_body, rpc_headers

if TYPE_CHECKING:
    from a2a_server.entry import Entry
    from tests.asgi_peer import Answer, Header

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def authorization() -> str:
    return factories.token_of(factories.make_client()).header


def call(
    entry: Entry,
    authorization: str,
    body: bytes,
    *more: Header,
    version: str | None = "1.0",
    query: bytes = b"",
) -> Answer:
    headers = [("content-type", "application/json"), ("authorization", authorization)]
    if version is not None:
        headers.append(("a2a-version", version))
    scope = make_scope(headers=[*headers, *more], query=query)
    return ask_once(entry, scope, [body])


# --- JSON and envelope ----------------------------------------------------------------


def test_nobody_else_waits_while_a_large_body_is_read(
    entry: Entry, authorization: str
) -> None:
    """A permitted body of small objects takes its time, in a thread."""
    body = b'{"a":1,"a":2,"method":[' + b",".join([b"{}"] * 340_000) + b"]}"
    started = time.monotonic()
    with pytest.raises(ProtocolError):
        jsonrpc.parse_request(body)
    reading = time.monotonic() - started
    scope = make_scope(headers=rpc_headers(authorization))

    async def ask_beside_others() -> tuple[Answer, float]:
        asking = asyncio.create_task(ask(entry, scope, [body]))
        longest, last = 0.0, time.monotonic()
        while not asking.done():
            await asyncio.sleep(0)
            now = time.monotonic()
            longest, last = max(longest, now - last), now
        return asking.result(), longest

    answer, longest = asyncio.run(ask_beside_others())

    assert answer.error["code"] == -32600
    assert longest < reading / 2


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{',
        b"",
        b"   ",
        b"\xff\xfe",
        b'{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"x":NaN}}',
        b'{"a":' * 20_000,
        b"[" * 65 + b"]" * 65,
    ],
    ids=["cut", "empty", "blank", "not UTF-8", "NaN", "endless nesting", "65 levels"],
)
def test_unreadable_json_is_a_parse_error(
    entry: Entry, authorization: str, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """S15, B001, B009, B011: nobody is told to try the same bytes again."""
    answer = call(entry, authorization, body)

    assert answer.status == 200
    assert answer.json["id"] is None
    assert answer.error["code"] == -32700
    assert "data" not in answer.error
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize(
    ("body", "id_"),
    [
        ({"id": 1, "method": "GetTask"}, 1),
        ({"jsonrpc": "1.0", "id": "a", "method": "GetTask"}, "a"),
        ({"jsonrpc": 2.0, "id": 1, "method": "GetTask"}, 1),
        ({"jsonrpc": "2.0", "id": {"a": 1}, "method": "GetTask"}, None),
        ({"jsonrpc": "2.0", "id": [1], "method": "GetTask"}, None),
        ({"jsonrpc": "2.0", "id": True, "method": "GetTask"}, None),
        ({"jsonrpc": "2.0", "id": 1.0, "method": "GetTask"}, None),
        ({"jsonrpc": "2.0", "id": "x" * 256, "method": "GetTask"}, None),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, 1),
        ({"jsonrpc": "2.0", "id": 1}, 1),
        ([], None),
        ([1], None),
        ([{"jsonrpc": "2.0", "id": 1, "method": "ListTasks"}], None),
        (1, None),
        (None, None),
    ],
)
def test_a_wrong_envelope_is_an_invalid_request(
    entry: Entry, authorization: str, body: Any, id_: Any
) -> None:
    """S12, B003, B006: the id is echoed when it is readable."""
    answer = call(entry, authorization, json.dumps(body).encode())

    assert answer.status == 200
    assert answer.error["code"] == -32600
    assert answer.json["id"] == id_


def test_a_member_name_twice_is_an_invalid_request(
    entry: Entry, authorization: str
) -> None:
    """S15, B008."""
    body = (
        b'{"jsonrpc":"2.0","id":1,"id":2,"method":"GetTask","method":"CancelTask",'
        b'"params":{"id":"X","id":"Y"}}'
    )

    assert call(entry, authorization, body).error["code"] == -32600


@pytest.mark.parametrize("id_", [b"7", b"-0", b'"7"', b'"\\u00e9"', b"null"])
def test_echoes_the_id_with_its_type(
    entry: Entry, authorization: str, id_: bytes
) -> None:
    """S12: a number with the text it came with."""
    body = b'{"jsonrpc":"2.0","id":%s,"method":"ListTasks"}' % id_

    answer = call(entry, authorization, body)

    assert answer.json["result"]
    expected = json.loads(id_)
    assert answer.json["id"] == expected
    if id_ == b"-0":
        assert b'"id":-0,' in answer.body


def test_answers_a_request_without_an_id(entry: Entry, authorization: str) -> None:
    """S12: deliberately, since clients wait for an answer to all they send."""
    answer = call(entry, authorization, b'{"jsonrpc":"2.0","method":"ListTasks"}')

    assert answer.json["id"] is None
    assert "result" in answer.json


# --- Version --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "query"),
    [
        ("1.0", b""),
        ("1.0.1", b""),
        (None, b"A2A-Version=1.0"),
        ("1.0", b"A2A-Version=0.3"),  # the header wins
    ],
)
def test_speaks_version_1_0(
    entry: Entry, authorization: str, header: str | None, query: bytes
) -> None:
    """S11, B017."""
    answer = call(
        entry, authorization, rpc_body("ListTasks"), version=header, query=query
    )

    assert "result" in answer.json


@pytest.mark.parametrize(
    ("header", "query", "method"),
    [
        (None, b"", "message/send"),
        ("", b"", "message/send"),
        (None, b"", "SendMessage"),
        ("0.3", b"", "message/send"),
        ("9.9", b"", "ListTasks"),
        (None, b"A2A-Version=9.9", "ListTasks"),
        (None, b"A2A-Version=", "ListTasks"),
        ("", b"A2A-Version=1.0", "ListTasks"),  # the header is there, if empty
        ("1.0, 1.0", b"", "ListTasks"),
        (None, b"A2A-Version=1.0&A2A-Version=1.0", "ListTasks"),
    ],
)
def test_refuses_every_other_version(
    entry: Entry, authorization: str, header: str | None, query: bytes, method: str
) -> None:
    """S11, B015, B017: no version means 0.3, which is not spoken here."""
    answer = call(entry, authorization, rpc_body(method), version=header, query=query)

    assert answer.status == 200
    assert answer.error["code"] == -32009
    assert answer.reasons == ["VERSION_NOT_SUPPORTED"]
    assert answer.error["data"][0]["metadata"] == {"supportedVersions": "1.0"}
    assert answer.json["id"] == 1


def test_a_query_that_is_not_utf_8_is_no_version(
    entry: Entry, authorization: str
) -> None:
    answer = call(
        entry, authorization, rpc_body("ListTasks"), version=None, query=b"\xff=%ff"
    )

    assert answer.error["code"] == -32009


def test_the_envelope_comes_before_the_version(
    entry: Entry, authorization: str
) -> None:
    """S10."""
    answer = call(entry, authorization, b'{"id":1}', version="9.9")

    assert answer.error["code"] == -32600


# --- Method, capability, parameters ---------------------------------------------------


@pytest.mark.parametrize(
    "method", ["getTask", "message/send", "", "GetTask ", "x" * 999]
)
def test_an_unknown_method_is_not_found(
    entry: Entry, authorization: str, method: str
) -> None:
    """S10, B003: names are case-sensitive."""
    answer = call(entry, authorization, rpc_body(method))

    assert answer.status == 200
    assert answer.error["code"] == -32601
    assert "data" not in answer.error


def test_a_method_name_of_0_3_is_told_what_names_look_like(
    entry: Entry, authorization: str
) -> None:
    answer = call(entry, authorization, rpc_body("message/send"))

    assert answer.error["message"].endswith("look like SendMessage.")


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_is_served_or_refused_by_its_capability(
    entry: Entry, authorization: str, method: str
) -> None:
    """S10, B074, B086, B087: before its parameters are looked at."""
    answer = call(entry, authorization, rpc_body(method, [1]))

    codes = {
        None: -32602,
        "streaming": -32004,
        "push_notifications": -32003,
        "extended_agent_card": -32004,
    }
    capability = None if method in OPERATIONS else METHODS[method].capability
    assert answer.error["code"] == codes[capability]


@pytest.mark.parametrize("params", [[1, 2], "x", 42, True])
def test_parameters_that_are_no_object_are_invalid(
    entry: Entry, authorization: str, params: Any
) -> None:
    """S12, B005."""
    answer = call(entry, authorization, rpc_body("GetTask", params))

    assert answer.error["code"] == -32602
    assert answer.json["id"] == 1


@pytest.mark.parametrize(
    "body",
    [rpc_body("ListTasks"), b'{"jsonrpc":"2.0","id":1,"method":"ListTasks"}'],
    ids=["null", "absent"],
)
def test_no_parameters_are_none(entry: Entry, authorization: str, body: bytes) -> None:
    """S12, B005."""
    assert "result" in call(entry, authorization, body).json


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (rb'{"id":"a\u0000b"}', "id"),
        (rb'{"id":"\ud800"}', "id"),
        (rb'{"metadata":{"x":1e999}}', "metadata.x"),
    ],
)
def test_text_and_numbers_that_cannot_be_kept_are_invalid(
    entry: Entry, authorization: str, text: bytes, path: str
) -> None:
    """S15, B009, B013: with the path of what is wrong."""
    body = b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":%s}' % text

    answer = call(entry, authorization, body)

    assert answer.error["code"] == -32602
    (violation,) = answer.error["data"][-1]["fieldViolations"]
    assert violation["field"] == path


# --- Media types and extensions -------------------------------------------------------


@pytest.mark.parametrize("accept", ["text/html", "text/event-stream", "*/*", "", "x"])
def test_accept_never_changes_the_answer(
    entry: Entry, authorization: str, accept: str
) -> None:
    """B018."""
    answer = call(entry, authorization, rpc_body("ListTasks"), ("accept", accept))

    assert answer.headers["content-type"] == "application/json"
    assert "result" in answer.json


def test_names_the_extension_that_was_asked_for(
    entry: Entry, authorization: str
) -> None:
    """The response names the extensions that were applied."""
    asked = ("a2a-extensions", f"https://other.example/x, {PROFILE_EXTENSION_URI}")

    with_it = call(entry, authorization, rpc_body("ListTasks"), asked)
    without = call(entry, authorization, rpc_body("ListTasks"))

    assert with_it.headers["a2a-extensions"] == PROFILE_EXTENSION_URI
    assert "a2a-extensions" not in without.headers


def test_every_body_of_random_bytes_gets_a_json_answer(
    entry: Entry, authorization: str
) -> None:
    """B001: never a 500, never HTML."""
    pieces = [bytes(range(start, start + 64)) for start in range(0, 256, 64)]

    for piece in pieces:
        assert call(entry, authorization, piece).error["code"] == -32700


def test_headers_are_those_of_every_answer(entry: Entry, authorization: str) -> None:
    scope = make_scope(headers=rpc_headers(authorization))

    answer = ask_once(entry, scope, [rpc_body("ListTasks")])

    assert answer.headers["cache-control"] == "no-store"
