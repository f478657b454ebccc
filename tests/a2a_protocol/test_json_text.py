from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from a2a_protocol import json_text
from a2a_protocol.errors import ErrorCode, FieldViolation, LocalError, ProtocolError

if TYPE_CHECKING:
    from a2a_protocol.json_text import JSONValue

MILLIONS_OF_DIGITS = b"9" * 100_000


def nested(levels: int, inner: bytes = b"") -> bytes:
    return b"[" * levels + inner + b"]" * levels


def code_of(body: bytes) -> ErrorCode:
    with pytest.raises(ProtocolError) as caught:
        json_text.load_json(body)
    return caught.value.code


@pytest.mark.parametrize(
    ("body", "value"),
    [
        pytest.param(
            b' {"a" : [1, -2.5e1, true, null]} ', {"a": [1, -25.0, True, None]}
        ),
        pytest.param('"ä😀"'.encode(), "ä😀"),
        pytest.param(b'"\\ud83d\\ude00"', "😀", id="a whole surrogate pair"),
        pytest.param(nested(64), None, id="64 levels"),
        pytest.param(b'"' + b"[{" * 200 + b'"', "[{" * 200, id="brackets in a text"),
        pytest.param(b"[" + b"[]," * 99 + b"[]]", [[]] * 100, id="wide, not deep"),
        pytest.param(b'{"a":{"b":1},"c":{"b":1}}', {"a": {"b": 1}, "c": {"b": 1}}),
    ],
)
def test_reads_json(body: bytes, value: JSONValue) -> None:
    read = json_text.load_json(body)

    assert value is None or read == value


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"   ", id="three spaces"),
        pytest.param(
            b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{', id="truncated"
        ),
        pytest.param(b"{} {}", id="two values"),
        pytest.param(b"{'a':1}", id="single quotes"),
        pytest.param(b'{"a":1,}', id="trailing comma"),
        pytest.param(b"007", id="leading zeros"),
        pytest.param(b'"a\x00"', id="bare control character"),
        pytest.param(b"\xff", id="not UTF-8"),
        pytest.param(b'"\xed\xa0\x80"', id="a surrogate in UTF-8"),
        pytest.param('"a"'.encode("utf-16"), id="UTF-16"),
        pytest.param(b"\xef\xbb\xbf{}", id="byte order mark"),
        pytest.param(b'{"x":NaN}', id="NaN"),
        pytest.param(b'{"x":Infinity}', id="Infinity"),
        pytest.param(b'{"x":-Infinity}', id="-Infinity"),
        pytest.param(b'{"x":1e999,"y":NaN}', id="NaN after a number that is too large"),
        pytest.param(b'{"a":1,"a":2', id="truncated after a repeated name"),
        pytest.param(nested(65), id="65 levels"),
        pytest.param(nested(64, b"{}"), id="64 levels of lists and an object"),
        pytest.param(b'{"a":' * 900 + b"1" + b"}" * 900, id="900 levels"),
        pytest.param(b'{"a":' * 20_000, id="20000 levels, truncated"),
        pytest.param(nested(20_000), id="20000 levels"),
        pytest.param(b'{"a":1,"a":' + nested(64) + b"}", id="deep and repeated"),
    ],
)
def test_refuses_what_is_not_json(body: bytes) -> None:
    """S15, B001, B009, B011."""
    assert code_of(body) is ErrorCode.PARSE


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"a":1,"a":1}', id="outermost"),
        pytest.param(b'[{"parts":[{"text":"a","text":"b"}]}]', id="further in"),
        pytest.param(b'{"a":1,"\\u0061":2}', id="spelled otherwise"),
        pytest.param(b'{"a":1,"a":' + MILLIONS_OF_DIGITS + b"}", id="huge number too"),
    ],
)
def test_refuses_a_member_that_is_named_twice(body: bytes) -> None:
    """S15, B008."""
    assert code_of(body) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("body", "path"),
    [
        pytest.param(b'{"a":[0,"x\\u0000y"]}', "a[1]", id="U+0000"),
        pytest.param(b'{"a":{"b":"\\ud800"}}', "a.b", id="high surrogate"),
        pytest.param(b'{"a":{"b":"\\uDC00x"}}', "a.b", id="low surrogate"),
        pytest.param(b'{"a":{"b":"\\ude00\\ud83d"}}', "a.b", id="pair the wrong way"),
        pytest.param(b'{"\\u0000":1}', "\ufffd", id="in a name"),
        pytest.param(b'{"a":1e999}', "a", id="1e999"),
        pytest.param(b'{"a":-1e999}', "a", id="-1e999"),
        pytest.param(b'{"a":' + b"9" * 400 + b"}", "a", id="integer of 400 digits"),
        pytest.param(b'{"a":' + b"9" * 309 + b"}", "a", id="integer of 309 digits"),
        pytest.param(b"-" + MILLIONS_OF_DIGITS, "", id="integer of 100000 digits"),
        pytest.param(b"[[1],[2,1e400]]", "[1][1]", id="list in list"),
    ],
)
def test_finds_bad_values_only_afterwards(body: bytes, path: str) -> None:
    """S15, B009, B013."""
    document = json_text.read_document(body)

    violation = json_text.find_bad_value(document.value)

    assert document.suspect
    assert violation is not None
    assert violation.field == path


@pytest.mark.parametrize(
    ("body", "suspect"),
    [
        pytest.param(b'{"a":["x",1,-2.5,1e300,true,null,{}]}', False, id="plain"),
        pytest.param(b'"\\u00e4\\n"', False, id="harmless escapes"),
        pytest.param(b"1" + b"0" * 307, False, id="308 digits"),
        pytest.param(b'"\\ud83d\\ude00"', True, id="escaped emoji"),
        pytest.param(b'"\\\\u0000"', True, id="an escaped backslash before u0000"),
        pytest.param(b"1" + b"0" * 308, True, id="309 digits, finite"),
    ],
)
def test_walks_only_what_may_hold_bad_values(body: bytes, suspect: bool) -> None:
    document = json_text.read_document(body)

    assert document.suspect == suspect
    assert json_text.find_bad_value(document.value) is None


def test_says_where_a_bad_value_stands() -> None:
    """S15."""
    with pytest.raises(ProtocolError) as caught:
        json_text.refuse_bad_values({"a": ["\x00"]}, "message.metadata")

    assert caught.value.code is ErrorCode.INVALID_PARAMS
    assert caught.value.violations == (
        FieldViolation("message.metadata.a[0]", json_text.BAD_TEXT),
    )


def test_lets_good_values_pass() -> None:
    json_text.refuse_bad_values({"a": ["ä", 1.5, True, None]})


def test_cleans_and_cuts_the_peers_names_in_paths() -> None:
    path = json_text.member_path("a", "\ud800" + "x" * 1000)

    assert path == "a.\ufffd" + "x" * 63


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param({"a": [1, None, True, "ä"]}, '{"a":[1,null,true,"ä"]}'),
        pytest.param("\u2028\x00", '"\u2028\\u0000"'),
        pytest.param({}, "{}"),
    ],
)
def test_writes_compact_json(value: JSONValue, text: str) -> None:
    assert json_text.dump_json(value) == text


def endless() -> list[object]:
    loop: list[object] = []
    loop.append(loop)
    return loop


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(math.nan, id="NaN"),
        pytest.param([math.inf], id="Infinity"),
        pytest.param({"a": -math.inf}, id="-Infinity"),
        pytest.param("\ud800", id="half a surrogate pair"),
        pytest.param({"a": object()}, id="not JSON"),
        pytest.param(endless(), id="a list in itself"),
    ],
)
def test_never_writes_what_nobody_can_read(value: object) -> None:
    """B009, B013."""
    with pytest.raises(LocalError):
        json_text.dump_json(value)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("plain", "plain"),
        ("ä😀", "ä😀"),
        ("a\x00b", "a\ufffdb"),
        ("\ud800", "\ufffd"),
        ("x\udfffy\x00", "x\ufffdy\ufffd"),
    ],
)
def test_cleans_text(text: str, clean: str) -> None:
    """S15, B013."""
    assert json_text.clean_text(text) == clean


def test_cleans_data() -> None:
    """S15, B009, B013."""
    value: JSONValue = {
        "\x00": ["\ud800", math.nan, math.inf, 10**400, 1, True, None, 1.5]
    }

    assert json_text.clean_value(value) == {
        "\ufffd": ["\ufffd", None, None, None, 1, True, None, 1.5]
    }


def test_does_not_clean_what_is_too_deep_to_be_read_again() -> None:
    """S15, B011."""
    deepest = json_text.load_json(nested(64))

    assert json_text.clean_value(deepest) == deepest
    with pytest.raises(LocalError):
        json_text.clean_value([deepest])
