from __future__ import annotations

import json
import logging
import time
from typing import TYPE_CHECKING, Any

import pytest
from asgiref.sync import async_to_sync

from a2a_client import transport
from a2a_client.audit import Audit
from a2a_client.models import RemoteAgent
from a2a_client.replies import NotAccepted, Unknown
from a2a_client.streams import Ending, StreamEvent
from a2a_protocol import types
from tests import factories
from tests.a2a_client import agents, scripts
from tests.a2a_client.peer import Gate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_client.streams import Ended
    from tests.a2a_client.peer import Exchange, Peer, Received, Script

pytestmark = pytest.mark.django_db

AUDIT = Audit(purpose="test")
METHOD = "SubscribeToTask"
PARAMS = types.SubscribeToTaskRequest(id="R1")

WORKING = {"task": agents.task("WORKING")}
DONE = {"task": agents.task("COMPLETED")}


class Read:
    """What came out of a stream until it ended, or until so many events."""

    events: list[StreamEvent]
    ended: Ended | None

    @property
    def results(self) -> list[Any]:
        return [event.result for event in self.events]


async def _read(agent: RemoteAgent, most: int, seconds: float | None) -> Read:
    read = Read()
    read.events = []
    async with transport.stream(
        agent, METHOD, PARAMS, audit=AUDIT, seconds=seconds
    ) as stream:
        async for event in stream:
            read.events.append(event)
            if len(read.events) == most:
                break
        read.ended = stream.ended
    return read


def streamed(
    peer: Peer,
    script: Script,
    *,
    most: int = 0,
    seconds: float | None = None,
    **values: Any,
) -> Read:
    """What came of this answer; it was asked for once."""
    peer.on(METHOD, script)
    agent = factories.make_remote_agent(peer.url, **values)

    read = async_to_sync(_read)(agent, most, seconds)

    assert peer.count(METHOD) == 1
    return read


def data(received: Received, value: Any) -> bytes:
    return scripts.event_data(received, value)


# --- Events ---------------------------------------------------------------------------


def test_events_come_out_in_order_and_the_end_is_told(peer: Peer) -> None:
    read = streamed(peer, scripts.events(WORKING, DONE))

    assert read.results == [WORKING, DONE]
    assert read.ended == Ending.CLOSED


def test_a_stream_is_asked_for_and_plain_json_taken(peer: Peer) -> None:
    streamed(peer, scripts.events(DONE))

    assert peer.received[0].headers["accept"] == "text/event-stream, application/json"


def test_a_stream_is_a_contact(peer: Peer) -> None:
    streamed(peer, scripts.events(DONE))

    assert RemoteAgent.objects.get().last_contact_at


def test_an_event_has_the_id_that_it_names(peer: Peer) -> None:
    def pieces(received: Received) -> Sequence[bytes]:
        event = scripts.event(received, WORKING)
        return [b"id: 7\n" + event, event]

    read = streamed(peer, scripts.raw_stream(pieces))

    assert [event.id for event in read.events] == ["7", ""]


def test_an_event_is_delivered_before_the_next_one_is_sent(peer: Peer) -> None:
    """E8."""
    rest = Gate(scripts.nothing)

    async def answer(exchange: Exchange) -> None:
        await exchange.send(scripts.head(200, scripts.EVENTS))
        await exchange.send(scripts.event(exchange.received, WORKING))
        await rest(exchange)

    read = streamed(peer, answer, most=1)

    assert read.results == [WORKING]
    assert read.ended is None


def test_leaving_closes_the_connection(peer: Peer) -> None:
    """B106 (e)."""
    streamed(peer, scripts.open_stream(DONE), most=1)

    peer.wait_for_hang_up()


@pytest.mark.parametrize(
    "noise",
    [b": keep-alive\n\n", b":\n\n", b"event: ping\n\n", b"id: 5\n\n", b"retry: 9\n\n"],
)
def test_what_has_no_data_is_no_event(peer: Peer, noise: bytes) -> None:
    """B103."""

    def pieces(received: Received) -> Sequence[bytes]:
        event = scripts.event(received, WORKING)
        return [event, noise, noise, event, noise]

    read = streamed(peer, scripts.raw_stream(pieces))

    assert read.results == [WORKING, WORKING]
    assert read.ended == Ending.CLOSED


def test_an_event_of_another_name_that_is_no_reply_is_skipped(peer: Peer) -> None:
    """C4."""

    def pieces(received: Received) -> Sequence[bytes]:
        event = scripts.event(received, WORKING)
        return [b'event: ping\ndata: {"at": 1}\n\n', event]

    read = streamed(peer, scripts.raw_stream(pieces))

    assert read.results == [WORKING]
    assert read.ended == Ending.CLOSED


def test_an_event_of_another_name_that_is_a_reply_counts(peer: Peer) -> None:
    def pieces(received: Received) -> Sequence[bytes]:
        return [b"event: task\n" + scripts.event(received, WORKING)]

    assert streamed(peer, scripts.raw_stream(pieces)).results == [WORKING]


@pytest.mark.parametrize("line_break", [b"\n", b"\r\n", b"\r"])
def test_all_line_breaks_of_the_format_are_read(peer: Peer, line_break: bytes) -> None:
    def pieces(received: Received) -> Sequence[bytes]:
        return [scripts.event(received, WORKING).replace(b"\n", line_break)] * 2

    assert streamed(peer, scripts.raw_stream(pieces)).results == [WORKING, WORKING]


def test_data_of_several_lines_is_one_event(peer: Peer) -> None:
    """B105."""

    def pieces(received: Received) -> Sequence[bytes]:
        return [b"data: " + data(received, DONE).replace(b", ", b",\ndata: ") + b"\n\n"]

    assert streamed(peer, scripts.raw_stream(pieces)).results == [DONE]


def test_what_only_looks_like_a_line_break_does_not_end_a_line(peer: Peer) -> None:
    said = {"task": agents.task(say="a\u2028b\u2029c\u0085d\x0ce")}

    read = streamed(peer, scripts.events(said))

    assert read.results == [said]


def test_pieces_are_put_together_wherever_they_were_cut(peer: Peer) -> None:
    """E8: in a line, in a character of several bytes, in the blank line."""
    said = {"task": agents.task(say="grüße 🙂")}

    def pieces(received: Received) -> Sequence[bytes]:
        whole = scripts.event(received, said)
        return [bytes([byte]) for byte in whole]

    read = streamed(peer, scripts.raw_stream(pieces, pause=0.0001))

    assert read.results == [said]


# --- Ends -----------------------------------------------------------------------------


def test_a_reset_cuts(peer: Peer) -> None:
    """B106 (b)."""
    read = streamed(peer, scripts.events(WORKING, cut=True))

    assert read.results == [WORKING]
    assert read.ended == Ending.CUT


@pytest.mark.parametrize("end", [b"data: {", b"data: {}\n", b"data: {}"])
def test_an_event_that_was_not_finished_is_none(peer: Peer, end: bytes) -> None:
    """B106 (c), (d)."""

    def pieces(received: Received) -> Sequence[bytes]:
        return [scripts.event(received, WORKING), end]

    read = streamed(peer, scripts.raw_stream(pieces))

    assert read.results == [WORKING]
    assert read.ended == Ending.CLOSED


UNUSABLE = {
    "no JSON": b"data: hello\n\n",
    "another id": b'data: {"jsonrpc": "2.0", "id": "other", "result": {}}\n\n',
    "error": b'data: {"jsonrpc": "2.0", "id": null, "error": {"code": -32603}}\n\n',
    "too large": b"data: " + b" " * (2 * 1024 * 1024 + 1),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_an_event_that_cannot_be_used_cuts(
    peer: Peer, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    def pieces(received: Received) -> Sequence[bytes]:
        event = scripts.event(received, WORKING)
        return [event, UNUSABLE[name] + event]

    read = streamed(peer, scripts.raw_stream(pieces, pause=0.05))

    assert read.results == [WORKING]
    assert read.ended == Ending.CUT
    (record,) = [r for r in caplog.records if r.message == "remote stream cut"]
    assert vars(record)["host"] == "127.0.0.1"


def test_comments_do_not_prolong_a_stream_for_ever(peer: Peer) -> None:
    """B116 (d)."""
    began = time.monotonic()

    read = streamed(peer, scripts.open_stream(WORKING), seconds=0.5)

    assert read.ended == Ending.CUT
    assert time.monotonic() - began < 5


def test_comments_keep_a_stream_alive(peer: Peer) -> None:
    """The agent's time-out is for one that has not begun."""

    def pieces(received: Received) -> Sequence[bytes]:
        event = scripts.event(received, WORKING)
        return [event, *[b": still here\n\n"] * 6, event]

    read = streamed(peer, scripts.raw_stream(pieces, pause=0.25), timeout_seconds=1)

    assert read.results == [WORKING, WORKING]
    assert read.ended == Ending.CLOSED


# --- Before the first event -----------------------------------------------------------


def test_a_stream_without_an_event_is_unknown(
    peer: Peer, caplog: pytest.LogCaptureFixture
) -> None:
    """B107: no empty success."""
    read = streamed(peer, scripts.events())

    assert isinstance(read.ended, Unknown)
    assert read.ended.code == "no_event"
    (record,) = [r for r in caplog.records if r.levelno >= logging.WARNING]
    assert record.message == "remote request unknown"


def test_a_refusal_in_a_stream_is_one(peer: Peer) -> None:
    def pieces(received: Received) -> Sequence[bytes]:
        told = {"code": -32001, "message": "no"}
        return [
            b"data: "
            + json.dumps(scripts.envelope(received, error=told)).encode()
            + b"\n\n"
        ]

    read = streamed(peer, scripts.raw_stream(pieces))

    assert isinstance(read.ended, NotAccepted)
    assert read.ended.code == "rpc-32001"


PLAIN: dict[str, tuple[Script, type, str]] = {
    "refusal": (scripts.error(-32004), NotAccepted, "rpc-32004"),
    "refusal at 400": (scripts.error(-32004, status=400), NotAccepted, "rpc-32004"),
    "no such method of HTTP": (scripts.http(405), NotAccepted, "http_405"),
    "redirect": (scripts.redirect("http://127.0.0.1:9/"), NotAccepted, "http_307"),
    "unavailable": (scripts.unavailable(), Unknown, "http_503"),
    "page": (scripts.html(), Unknown, "unreadable"),
    "events with a failure": (
        scripts.http(500, b"data: {}\n\n", scripts.EVENTS),
        Unknown,
        "http_500",
    ),
    "lines of JSON": (
        scripts.http(200, b"{}\n{}\n", {"Content-Type": "application/x-ndjson"}),
        Unknown,
        "unreadable",
    ),
    "reset": (scripts.reset, Unknown, "broken_off"),
    "half": (scripts.half(), Unknown, "broken_off"),
    "large": (scripts.http(200, b" " * 3 * 1024 * 1024), Unknown, "body_too_large"),
    "endless": (scripts.endless, Unknown, "body_too_large"),
    "reset of a stream": (scripts.events(cut=True), Unknown, "broken_off"),
}


@pytest.mark.parametrize("name", PLAIN)
def test_an_answer_without_an_event_is_judged(peer: Peer, name: str) -> None:
    """B107."""
    script, kind, code = PLAIN[name]

    read = streamed(peer, script)

    assert not read.events
    assert isinstance(read.ended, kind)
    assert getattr(read.ended, "code", "") == code


@pytest.mark.parametrize(
    "kind", ["application/json", "application/json; charset=utf-8", ""]
)
def test_a_plain_result_is_the_only_event(peer: Peer, kind: str) -> None:
    """B107."""

    async def answer(exchange: Exchange) -> None:
        body = data(exchange.received, DONE)
        headers = {"Content-Type": kind} if kind else {}
        await scripts.http(200, body, headers)(exchange)

    read = streamed(peer, answer)

    assert read.results == [DONE]
    assert read.ended == Ending.CLOSED


@pytest.mark.parametrize(
    "kind", ["text/event-stream; charset=utf-8", "Text/Event-Stream;charset=UTF-8"]
)
def test_a_stream_is_known_by_its_type_alone(peer: Peer, kind: str) -> None:
    """B107."""
    headers = {"Content-Type": kind}

    assert streamed(peer, scripts.events(DONE, headers=headers)).results == [DONE]


@pytest.mark.parametrize("script", [scripts.silence, scripts.drip])
def test_a_stream_that_does_not_begin_ends_at_the_agents_time_out(
    peer: Peer, script: Script
) -> None:
    began = time.monotonic()

    read = streamed(peer, script, timeout_seconds=1)

    assert isinstance(read.ended, Unknown)
    assert read.ended.code == "deadline"
    assert time.monotonic() - began < 5


def test_an_agent_that_is_not_set_up_is_not_asked(peer: Peer) -> None:
    agent = factories.make_remote_agent(peer.url, confirmed_origin="")

    read = async_to_sync(_read)(agent, 0, None)

    assert isinstance(read.ended, NotAccepted)
    assert not peer.connections


def test_nothing_is_pending_while_the_only_event_was_not_read(peer: Peer) -> None:
    async def peeked(agent: RemoteAgent) -> list[Ended | None]:
        async with transport.stream(agent, METHOD, PARAMS, audit=AUDIT) as stream:
            before = stream.ended
            await anext(stream)
            return [before, stream.ended]

    peer.on(METHOD, scripts.result(DONE))

    found = async_to_sync(peeked)(factories.make_remote_agent(peer.url))

    assert found == [None, Ending.CLOSED]
