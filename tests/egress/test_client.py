"""Requests over real sockets on loopback; a stub of DNS says where names lead."""

from __future__ import annotations

import asyncio
import gzip
import time
import tracemalloc
import zlib
from typing import TYPE_CHECKING

import pytest

from egress.client import Limits
from egress.errors import BadAnswer, Interrupted, Reason, Refused, TimedOut
from tests.egress import peers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from egress.client import Answer
    from egress.errors import EgressError
    from tests.egress.peers import Exchange

SHORT = Limits(total_seconds=0.5)


async def _ask(
    answer: Callable[[Exchange], Awaitable[None]], limits: Limits | None = None
) -> Answer:
    async with (
        peers.serving(answer) as peer,
        peers.opened(peer, limits=limits) as client,
    ):
        return await client.request("GET", peer.url())


async def _failure(
    answer: Callable[[Exchange], Awaitable[None]],
    kind: type[EgressError],
    limits: Limits | None = None,
) -> EgressError:
    """How one request fails that the peer has read."""
    async with (
        peers.serving(answer) as peer,
        peers.opened(peer, limits=limits) as client,
    ):
        with pytest.raises(kind) as failure:
            await client.request("POST", peer.url(), content=b"once")
    assert len(peer.requests) == 1
    assert failure.value.has_left
    assert "«peer.test»" in failure.value.sentence
    return failure.value


# --- Requests -------------------------------------------------------------------------


async def test_asks_and_reads_an_answer() -> None:
    """E5."""
    async with (
        peers.serving(peers.answering(peers.OK)) as peer,
        peers.opened(peer) as client,
    ):
        answer = await client.request(
            "POST",
            peer.url(path="/a//../%2e?b=%20c"),
            headers={"X-Word": "ä"},
            content=b"hello",
        )

    assert (answer.status, answer.body) == (200, b"ok")
    head, body = peer.requests[0].split(b"\r\n\r\n")
    assert head.splitlines() == [
        b"POST /a//../%2e?b=%20c HTTP/1.1",
        b"Host: peer.test:" + str(peer.port).encode(),
        b"Accept-Encoding: identity",
        b"Content-Length: 5",
        b"X-Word: \xe4",
    ]
    assert body == b"hello"


async def test_gives_headers_in_lower_case_and_joins_those_of_one_name() -> None:
    raw = peers.with_body(b"", b"X-A: 1", b"x-a: 2", b"X-B: \xe4")

    answer = await _ask(peers.answering(raw))

    assert answer.headers["x-a"] == "1, 2"
    assert answer.headers["x-b"] == "ä"


@pytest.mark.parametrize("status", [204, 301, 302, 307, 308, 404, 429, 500, 503])
async def test_whatever_the_status_is_it_is_asked_once(status: int) -> None:
    """E6, E7: nothing is followed or repeated; the peer counts."""
    lines = (b"Location: https://other.test/", b"Retry-After: 0")
    raw = peers.with_body(b"", *lines, status=b"%d Whatever" % status)
    async with (
        peers.serving(peers.answering(raw)) as peer,
        peers.opened(peer) as client,
    ):
        answer = await client.request("GET", peer.url())

    assert answer.status == status
    assert len(peer.requests) == peer.connections == 1


async def test_the_target_of_a_redirect_is_never_touched() -> None:
    """E6."""
    async with peers.serving(peers.answering(peers.OK)) as target:
        location = f"Location: {target.url('other.test')}".encode()
        raw = peers.with_body(b"", location, status=b"307 Temporary Redirect")
        async with (
            peers.serving(peers.answering(raw)) as peer,
            peers.opened(peer, target) as client,
        ):
            answer = await client.request("POST", peer.url(), content=b"once")

    assert answer.headers["location"] == target.url("other.test")
    assert (target.connections, len(peer.requests)) == (0, 1)


async def test_proxies_and_cookies_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """E2."""
    raw = peers.with_body(b"", b"Set-Cookie: a=1")
    async with (
        peers.serving(peers.answering(peers.OK), tls=False) as proxy,
        peers.serving(peers.answering(raw)) as peer,
    ):
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
            monkeypatch.setenv(name.lower(), f"http://127.0.0.1:{proxy.port}")
        async with peers.opened(peer) as client:
            for _ in range(2):
                await client.request("GET", peer.url())

    assert (proxy.connections, len(peer.requests)) == (0, 2)
    assert b"ookie" not in peer.requests[1]


async def test_every_request_is_judged_also_on_a_kept_connection() -> None:
    """E5: another host's name gains nothing from a connection that is there."""
    async with (
        peers.serving(peers.answering(peers.OK)) as peer,
        peers.opened(peer) as client,
    ):
        await client.request("GET", peer.url())
        with pytest.raises(Refused) as refusal:
            await client.request("GET", peer.url("stranger.test"))

    assert refusal.value.reason is Reason.NOT_ALLOWED
    assert len(peer.requests) == 1


async def test_plain_http_is_sent_where_the_policy_says_so() -> None:
    """E2."""
    async with (
        peers.serving(peers.answering(peers.OK), tls=False) as peer,
        peers.opened(peer, allow_http=True) as client,
    ):
        answer = await client.request("GET", peer.url(scheme="http"))

    assert answer.body == b"ok"


async def test_limits_of_one_request_count_more_than_the_client_s() -> None:
    async with (
        peers.serving(peers.answering(peers.OK)) as peer,
        peers.opened(peer) as client,
    ):
        with pytest.raises(BadAnswer):
            await client.request("GET", peer.url(), limits=Limits(body_bytes=1))


# --- Bodies ---------------------------------------------------------------------------


async def test_a_body_may_be_as_large_as_its_bound() -> None:
    """E7."""
    raw = peers.with_body(b"x" * 1000)

    answer = await _ask(peers.answering(raw), Limits(body_bytes=1000))
    failure = await _failure(peers.answering(raw), BadAnswer, Limits(body_bytes=999))

    assert len(answer.body) == 1000
    assert failure.reason is Reason.BODY_TOO_LARGE


async def test_an_endless_body_ends_at_its_bound() -> None:
    """E7."""

    async def send_for_ever(exchange: Exchange) -> None:
        await exchange.send(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            await exchange.send(b"x" * 65536)

    failure = await _failure(send_for_ever, BadAnswer)

    assert failure.reason is Reason.BODY_TOO_LARGE


@pytest.mark.parametrize("name", [b"gzip", b"x-gzip", b"GZIP", b"identity"])
async def test_reads_gzip_though_identity_was_asked_for(name: bytes) -> None:
    """E7."""
    text = b"hello " * 50_000
    body = text if name == b"identity" else gzip.compress(text)

    answer = await _ask(
        peers.answering(peers.with_body(body, b"Content-Encoding: " + name))
    )

    assert answer.body == text


async def test_a_gzip_bomb_ends_at_the_bound_and_needs_little_memory() -> None:
    """E7: 200 MiB in some 200 KB."""
    deflater = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(
        [*(deflater.compress(b"\0" * 2**20) for _ in range(200)), deflater.flush()]
    )
    raw = peers.with_body(bomb, b"Content-Encoding: gzip")
    peers.client_context()
    tracemalloc.start()
    try:
        failure = await _failure(peers.answering(raw), BadAnswer)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert failure.reason is Reason.BODY_TOO_LARGE
    assert peak < 8 * 2**20


@pytest.mark.parametrize(
    "encoding", [b"br", b"deflate", b"zstd", b"gzip, gzip", b"identity, gzip", b"x"]
)
async def test_any_other_encoding_is_an_invalid_answer(encoding: bytes) -> None:
    """E7."""
    raw = peers.with_body(gzip.compress(b"x"), b"Content-Encoding: " + encoding)

    failure = await _failure(peers.answering(raw), BadAnswer)

    assert failure.reason is Reason.ENCODING


async def test_headers_have_a_bound() -> None:
    """E7: below what the parser itself holds, and above."""
    for count, limit in ((2, 1000), (200, 100 * 1024), (4000, 10**9)):
        lines = [b"X-%d: " % n + b"x" * 600 for n in range(count)]
        raw = peers.with_body(b"", *lines)

        failure = await _failure(
            peers.answering(raw), BadAnswer, Limits(header_bytes=limit)
        )

        assert failure.reason is Reason.HEADERS_TOO_LARGE


# --- Breaks ---------------------------------------------------------------------------


async def test_a_reset_after_the_request_was_read_may_have_acted() -> None:
    """E7."""

    async def reset(exchange: Exchange) -> None:
        exchange.reset()

    failure = await _failure(reset, Interrupted)

    assert failure.reason is Reason.BROKEN_OFF


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"HTTP/1.1 200",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        b"220 mail.test ESMTP\r\n",
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    ],
)
async def test_an_answer_that_ends_early_or_is_none(raw: bytes) -> None:
    """E7."""

    async def end(exchange: Exchange) -> None:
        await exchange.send(raw)
        exchange.writer.close()

    failure = await _failure(end, Interrupted)

    assert failure.reason is Reason.BROKEN_OFF


async def test_a_cut_gzip_is_a_damaged_answer() -> None:
    raw = peers.with_body(gzip.compress(b"x" * 1000)[:-4], b"Content-Encoding: gzip")

    failure = await _failure(peers.answering(raw), BadAnswer)

    assert failure.reason is Reason.ENCODING


# --- Time -----------------------------------------------------------------------------


async def _drip(exchange: Exchange, start: bytes, piece: bytes) -> None:
    await exchange.send(start)
    while True:
        await exchange.send(piece)
        await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"x"),
        (b"HTTP/1.1 200 OK\r\n", b"X: 1\r\n"),
        (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
        (b"", b""),
    ],
    ids=["body", "headers", "early hints", "silence"],
)
async def test_a_slow_drip_ends_at_the_deadline(start: bytes, piece: bytes) -> None:
    """E7."""
    began = time.monotonic()

    failure = await _failure(
        lambda exchange: _drip(exchange, start, piece), TimedOut, SHORT
    )

    assert failure.reason is Reason.DEADLINE
    assert "0.5 seconds" in failure.sentence
    assert time.monotonic() - began < 5


async def test_silence_ends_at_its_own_limit() -> None:
    """E7."""

    async def begin(exchange: Exchange) -> None:
        await exchange.send(b"HTTP/1.1 200 OK\r\n\r\nx")
        await asyncio.sleep(60)

    failure = await _failure(begin, TimedOut, Limits(idle_seconds=0.2))

    assert failure.reason is Reason.IDLE


async def test_a_deadline_before_the_connection_has_sent_nothing() -> None:
    """E7: TCP is there, and TLS is not."""
    async with (
        peers.silent() as peer,
        peers.opened(peer, limits=Limits(total_seconds=0.2)) as client,
    ):
        with pytest.raises(TimedOut) as failure:
            await client.request("POST", peer.url(), content=b"once")

    assert peer.connections == 1
    assert failure.value.reason is Reason.DEADLINE
    assert not failure.value.has_left


async def test_whoever_cancels_is_not_told_of_a_time_out() -> None:
    async with (
        peers.serving(lambda exchange: _drip(exchange, b"", b"")) as peer,
        peers.opened(peer) as client,
    ):
        task = asyncio.create_task(client.request("GET", peer.url()))
        await peer.arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert len(peer.requests) == 1


# --- Streams --------------------------------------------------------------------------


async def test_a_stream_is_handed_on_as_it_arrives() -> None:
    """E8: each piece is sent when the one before was read."""
    read = asyncio.Semaphore(1)

    async def send_in_turn(exchange: Exchange) -> None:
        await exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for piece in (b"one", b"two", b"three"):
            await read.acquire()
            await exchange.send(b"%x\r\n%b\r\n" % (len(piece), piece))
        await exchange.send(b"0\r\n\r\n")

    seen = []
    async with (
        peers.serving(send_in_turn) as peer,
        peers.opened(peer) as client,
        client.stream("GET", peer.url()) as answer,
    ):
        async for chunk in answer.chunks():
            seen.append(chunk)
            read.release()

    assert seen == [b"one", b"two", b"three"]


async def test_comments_keep_a_stream_awake_but_not_beyond_its_total() -> None:
    """E7."""
    start = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    limits = Limits(idle_seconds=0.3, total_seconds=0.9)
    began = time.monotonic()

    failure = await _failure(
        lambda exchange: _drip(exchange, start, b": still here\n\n"), TimedOut, limits
    )

    assert failure.reason is Reason.DEADLINE
    assert time.monotonic() - began >= 0.9


async def test_what_the_reader_does_meanwhile_is_never_cut_short() -> None:
    """The deadline ends waiting for the peer; it is told at the next step."""
    start = b"HTTP/1.1 200 OK\r\n\r\n"
    async with (
        peers.serving(lambda exchange: _drip(exchange, start, b"x")) as peer,
        peers.opened(peer, limits=SHORT) as client,
        client.stream("GET", peer.url()) as answer,
    ):
        chunks = aiter(answer.chunks())
        await anext(chunks)
        await asyncio.sleep(0.6)
        with pytest.raises(TimedOut):
            await anext(chunks)


async def test_a_stream_that_is_left_gives_up_its_connection() -> None:
    ended = asyncio.Event()

    async def notice(exchange: Exchange) -> None:
        try:
            await _drip(exchange, b"HTTP/1.1 200 OK\r\n\r\n", b"x")
        except ConnectionError:
            ended.set()

    async with peers.serving(notice) as peer, peers.opened(peer) as client:
        async with client.stream("GET", peer.url()) as answer:
            async for _ in answer.chunks():
                break
        async with asyncio.timeout(10):
            await ended.wait()

    assert peer.connections == 1
