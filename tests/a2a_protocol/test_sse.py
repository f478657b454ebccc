from __future__ import annotations

import json

import pytest

from a2a_protocol import sse
from a2a_protocol.errors import ErrorCode, LocalError, RemoteError
from a2a_protocol.json_text import dump_json
from a2a_protocol.sse import Event, EventParser

STREAM = (
    "\ufeff: hello\r\n\r\n"
    'id: 1\r\ndata: {"a":\rdata: "ä😀"}\n\n'
    "event: ping\n\n"
    "id: 2\ndata:x\r\r"
    "data: last\n\n"
).encode()
EVENTS = [
    Event(id="1", event="message", data='{"a":\n"ä😀"}', own_id="1"),
    Event(id="2", event="message", data="x", own_id="2"),
    Event(id="2", event="message", data="last"),
]


def parsed(*chunks: bytes) -> list[Event]:
    parser = EventParser()
    return [event for chunk in chunks for event in parser.feed(chunk)]


def feed_all(parser: EventParser, chunks: list[bytes]) -> None:
    for chunk in chunks:
        parser.feed(chunk)


def data_of(*chunks: bytes) -> list[str]:
    return [event.data for event in parsed(*chunks)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a\nb\r\nc\u2028d", id="line breaks of every kind"),
        pytest.param("data: not a field", id="looks like a field"),
        pytest.param("\u0085\u2029\x0b\x0c\x1c", id="breaks to str.splitlines"),
        pytest.param("x" * 1_000_000, id="a megabyte"),
        pytest.param("ä😀", id="more than a byte a character"),
    ],
)
def test_one_event_is_one_line_of_data(text: str) -> None:
    """S80, B058."""
    data = dump_json({"text": text})

    encoded = sse.encode_event(data, event_id=7)

    head, line, *rest = encoded.decode().splitlines()
    assert (head, rest) == ("id: 7", [""])
    assert json.loads(line.removeprefix("data: ")) == {"text": text}
    assert [json.loads(found) for found in data_of(encoded)] == [{"text": text}]


def test_an_event_needs_no_id() -> None:
    assert sse.encode_event("{}") == b"data: {}\n\n"


@pytest.mark.parametrize(
    ("data", "event_id"),
    [
        pytest.param('{\n"a":1}', None, id="pretty-printed"),
        pytest.param('{"a":1}\r', None, id="carriage return"),
        pytest.param("{}", "1\ndata: x", id="line break in the id"),
        pytest.param("{}", "a\x00", id="U+0000 in the id"),
    ],
)
def test_does_not_write_what_would_break_the_frame(
    data: str, event_id: str | None
) -> None:
    """B058."""
    with pytest.raises(LocalError):
        sse.encode_event(data, event_id=event_id)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, len(STREAM)])
def test_reads_a_stream_split_anywhere(size: int) -> None:
    """E8, B058: also inside a character and between CR and LF."""
    chunks = [STREAM[at : at + size] for at in range(0, len(STREAM), size)]

    assert parsed(*chunks) == EVENTS


@pytest.mark.parametrize("at", range(len(STREAM) + 1))
def test_reads_a_stream_in_two_pieces(at: int) -> None:
    """E8."""
    assert parsed(STREAM[:at], b"", STREAM[at:]) == EVENTS


@pytest.mark.parametrize(
    "quiet",
    [
        sse.KEEP_ALIVE,
        b": keep-alive\n\n",
        b":\n\n",
        b"event: ping\n\n",
        b"id: 5\n\n",
        b"retry: 1000\n\n",
        b"data\n\n",
        b"data:\n\n",
        b"\n\n\n",
        b"unknown: x\n\n",
    ],
)
def test_hands_out_nothing_for_an_event_without_data(quiet: bytes) -> None:
    """B103."""
    assert data_of(b"data: 1\n\n", quiet, b"data: 2\n\n") == ["1", "2"]


def test_joins_the_lines_of_one_event() -> None:
    """B105."""
    stream = b'data: {"jsonrpc":"2.0","id":1,\ndata: "result":{"task":{}}}\n\n'

    assert data_of(stream) == ['{"jsonrpc":"2.0","id":1,\n"result":{"task":{}}}']


def test_splits_at_line_breaks_of_the_format_only() -> None:
    """WHATWG HTML 9.2.6; U+2028, U+2029, U+0085 and the like are text."""
    text = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg"

    assert data_of(f"data: {text}\n\n".encode()) == [text]


def test_takes_one_blank_after_the_colon_away() -> None:
    assert data_of(b"data:  x \n\n", b"data:y\n\n") == [" x ", "y"]


def test_drops_an_event_that_the_stream_does_not_finish() -> None:
    """WHATWG HTML 9.2.6."""
    assert data_of(b"data: 1\n\ndata: 2\n") == ["1"]


def test_hands_out_an_event_that_ends_in_a_carriage_return_at_once() -> None:
    assert data_of(b"data: 1\r\r") == ["1"]


def test_a_line_feed_belongs_to_the_carriage_return_before_it_only() -> None:
    """E8: CR, LF and a second LF, each in a piece of its own."""
    assert data_of(b"data: 1\r", b"\n", b"\n") == ["1"]


def test_drops_a_byte_order_mark_at_the_start_only() -> None:
    """WHATWG HTML 9.2.6."""
    mark = "\ufeff".encode()

    assert data_of(mark + b"data: 1\n" + mark + b"data: 2\n\n") == ["1"]


def test_reads_bytes_that_are_not_utf_8() -> None:
    assert data_of(b"data: \xff\n\n") == ["\ufffd"]


def test_names_the_kind_and_the_last_id() -> None:
    """WHATWG HTML 9.2.6: the id outlives its event, the kind does not."""
    events = parsed(
        b"event: a\nid: 1\ndata: x\n\n", b"data: y\n\nid: b\x00\ndata: z\n\n"
    )

    assert events == [
        Event(id="1", event="a", data="x", own_id="1"),
        Event(id="1", event="message", data="y"),
        Event(id="1", event="message", data="z"),
    ]


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param([b"data: " + b"x" * 100], id="an unfinished line"),
        pytest.param([b"data: " + b"x" * 100 + b"\n\n"], id="a finished event"),
        pytest.param([b"data: xxxxxxxxxx\n"] * 10, id="many lines"),
        pytest.param([b"x"] * 101, id="drop by drop"),
        pytest.param([b":" + b"x" * 100], id="an endless comment"),
        pytest.param([b"id: " + b"x" * 30 + b"\n"] * 4, id="ids without end"),
    ],
)
def test_refuses_an_event_over_the_limit(chunks: list[bytes]) -> None:
    parser = EventParser(max_event_bytes=100)

    with pytest.raises(RemoteError) as caught:
        feed_all(parser, chunks)

    assert caught.value.code is ErrorCode.INVALID_AGENT_RESPONSE


def test_the_limit_is_for_one_event_not_for_the_stream() -> None:
    parser = EventParser(max_event_bytes=100)

    events = [parser.feed(b": hello\ndata: 0123456789\n\n") for _ in range(100)]

    assert all(len(found) == 1 for found in events)
