"""What remote agents answer: as they should, and as they do (B103–B117).

A function here makes a `Script` of `tests.a2a_client.peer`, or is one. What agents say
in their results is made by `tests.a2a_client.agents`.
"""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
from typing import TYPE_CHECKING, Any

from tests.a2a_client.peer import answering, head

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.a2a_client.peer import Exchange, Received, Script

JSON = {"Content-Type": "application/json"}
HTML = {"Content-Type": "text/html; charset=utf-8"}
EVENTS = {"Content-Type": "text/event-stream"}

# --- One answer -----------------------------------------------------------------------


def result(
    value: Mapping[str, Any] | Callable[[Received], Mapping[str, Any]],
    status: int = 200,
    **members: Any,
) -> Script:
    """A JSON-RPC result; `members` replace those of the envelope."""

    async def answer(exchange: Exchange) -> None:
        made = value(exchange.received) if callable(value) else value
        reply = envelope(exchange.received, result=made) | members
        await answering(status, json.dumps(reply).encode(), JSON)(exchange)

    return answer


def error(
    code: int,
    text: str = "no",
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    **members: Any,
) -> Script:
    """A JSON-RPC error; `members` replace those of the envelope."""

    async def answer(exchange: Exchange) -> None:
        told = {"code": code, "message": text}
        reply = envelope(exchange.received, error=told) | members
        named = {**JSON, **(headers or {})}
        await answering(status, json.dumps(reply).encode(), named)(exchange)

    return answer


def envelope(received: Received, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": received.id} | members


def http(
    status: int, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> Script:
    return answering(status, body, headers)


def html(status: int = 200) -> Script:
    return answering(status, b"<html><title>Please sign in</title></html>", HTML)


def redirect(to: str, status: int = 307) -> Script:
    return answering(status, b"", {"Location": to})


def unavailable(retry_after: str = "7") -> Script:
    return answering(503, b"busy", {"Retry-After": retry_after})


# --- How HTTP goes wrong --------------------------------------------------------------


def gzipped(body: bytes, *, damaged: bool = False) -> Script:
    packed = gzip.compress(body)
    sent = packed[: len(packed) // 2] if damaged else packed
    return answering(200, sent, {**JSON, "Content-Encoding": "gzip"})


def gzip_bomb(megabytes: int = 64) -> Script:
    return gzipped(b'{"result": "' + b" " * (megabytes * 1024 * 1024))


async def endless(exchange: Exchange) -> None:
    await exchange.send(head(200, JSON))
    while True:
        await exchange.send(b" " * 65536)


async def drip(exchange: Exchange) -> None:
    """A byte now and then, for ever."""
    await exchange.send(head(200, JSON))
    while True:
        await exchange.send(b" ")
        await asyncio.sleep(0.05)


async def dripping_head(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\n")
    for number in itertools.count():
        await exchange.send(b"X-%d: x\r\n" % number)
        await asyncio.sleep(0.05)


async def silence(exchange: Exchange) -> None:
    await asyncio.Event().wait()


async def nothing(exchange: Exchange) -> None:
    """No byte more."""


async def reset(exchange: Exchange) -> None:
    """After the request was read."""
    exchange.reset()


async def hang_up(exchange: Exchange) -> None:
    """Without a word, after the request was read."""


def half(body: bytes = b'{"jsonrpc": "2.0", "result": {}}') -> Script:
    """The end comes in the middle of the answer."""

    async def answer(exchange: Exchange) -> None:
        await exchange.send(head(200, JSON, {"Content-Length": len(body)}))
        await exchange.send(body[: len(body) // 2])

    return answer


# --- Streams --------------------------------------------------------------------------


def events(
    *results: Mapping[str, Any],
    cut: bool = False,
    headers: Mapping[str, str] = EVENTS,
    with_ids: bool = False,
) -> Script:
    """Each result in an event of its own; then the end, or with `cut` a reset."""

    async def answer(exchange: Exchange) -> None:
        await exchange.send(head(200, headers))
        for number, value in enumerate(results, start=1):
            named = b"id: %d\n" % number if with_ids else b""
            await exchange.send(named + event(exchange.received, value))
        if cut:
            # What was sent must have arrived: a reset throws away what has not.
            await asyncio.sleep(0.1)
            exchange.reset()

    return answer


def event(received: Received, value: Mapping[str, Any]) -> bytes:
    return b"data: " + event_data(received, value) + b"\n\n"


def event_data(received: Received, value: Mapping[str, Any]) -> bytes:
    return json.dumps(envelope(received, result=value), ensure_ascii=False).encode()


def raw_stream(
    make: Callable[[Received], Sequence[bytes]],
    *,
    headers: Mapping[str, str] = EVENTS,
    pause: float = 0.0,
) -> Script:
    """Pieces exactly as they are, each in a packet of its own where there is a pause."""

    async def answer(exchange: Exchange) -> None:
        await exchange.send(head(200, headers))
        for piece in make(exchange.received):
            await exchange.send(piece)
            await asyncio.sleep(pause)

    return answer


def open_stream(*results: Mapping[str, Any], comment_every: float = 0.02) -> Script:
    """The results, and then comments for ever."""

    async def answer(exchange: Exchange) -> None:
        await exchange.send(head(200, EVENTS))
        for value in results:
            await exchange.send(event(exchange.received, value))
        while True:
            await exchange.send(b": keep-alive\n\n")
            await asyncio.sleep(comment_every)

    return answer
