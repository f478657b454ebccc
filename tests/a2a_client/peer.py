"""A remote agent on loopback that does what a test tells it to, right or wrong.

It listens on a real socket in a thread of its own, so that tests with and without an
event loop and processes of the product can all call it. What is to be answered is a
`Script`; those of `scripts` cover what agents do in the wild. Every request is kept and
counted, so that a test can say what was never sent, or never sent again.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Self, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

CARD_PATH = "/.well-known/agent-card.json"
RPC_PATH = "/rpc"
TOKEN_PATH = "/token"

# RST instead of FIN: linger, for no time.
_LINGER = struct.pack("ii", 1, 0)
_SECONDS = 20.0


@dataclass(frozen=True, kw_only=True)
class Received:
    """Names of headers are lower case. `method` is JSON-RPC's, or verb and path."""

    verb: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def id(self) -> Any:
        return self.json["id"]

    @property
    def params(self) -> Any:
        return self.json["params"]

    @property
    def method(self) -> str:
        try:
            return str(self.json["method"])
        except (ValueError, KeyError, TypeError):
            return f"{self.verb} {self.path}"


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One request that was read whole, and the way back."""

    received: Received
    writer: asyncio.StreamWriter

    async def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()

    def reset(self) -> None:
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER)
        self.writer.transport.abort()


Script: TypeAlias = Callable[[Exchange], Awaitable[None]]


class Gate:
    """A script that waits until the test lets it go on, from whatever thread."""

    def __init__(self, then: Script) -> None:
        self._then = then
        self._opened: Future[None] = Future()

    async def __call__(self, exchange: Exchange) -> None:
        await asyncio.wrap_future(self._opened)
        await self._then(exchange)

    def open(self) -> None:
        self._opened.set_result(None)


@dataclass
class Peer:
    """A context manager; it listens while the context is open.

    `on` says what a method is answered with. What has no script gets «no such method»,
    and a path that nobody set up a 404.
    """

    host: str = "127.0.0.1"
    port: int = 0
    received: list[Received] = field(default_factory=list)
    connections: int = 0
    _scripts: dict[str, list[Script]] = field(default_factory=dict)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    # --- What it answers --------------------------------------------------------------

    def on(self, method: str, *scripts: Script) -> None:
        """Answer so: each script once and in turn, the last one for ever.

        `method` is JSON-RPC's, or as in «GET /card».
        """
        self._scripts[method] = list(scripts)

    def serve_card(self, card: Mapping[str, Any], path: str = CARD_PATH) -> None:
        body = json.dumps(card).encode()
        headers = {
            "Content-Type": "application/json",
            "ETag": f'"{sha256(body).hexdigest()}"',
        }
        self.on(f"GET {path}", answering(200, body, headers))

    def _script(self, received: Received) -> Script:
        scripts = self._scripts.get(received.method)
        if scripts is None:
            return _unknown_method if received.path == RPC_PATH else answering(404)
        return scripts.pop(0) if len(scripts) > 1 else scripts[0]

    # --- What it was sent -------------------------------------------------------------

    @property
    def url(self) -> str:
        return f"{self.origin}{RPC_PATH}"

    @property
    def card_url(self) -> str:
        return f"{self.origin}{CARD_PATH}"

    @property
    def token_url(self) -> str:
        return f"{self.origin}{TOKEN_PATH}"

    @property
    def origin(self) -> str:
        return f"http://{self.host}:{self.port}"

    def of(self, method: str) -> list[Received]:
        return [received for received in self.received if received.method == method]

    def count(self, method: str) -> int:
        return len(self.of(method))

    def wait_for(self, method: str, times: int = 1, *, seconds: float = 20.0) -> None:
        """Until it was asked so often."""
        with self._changed:
            came = self._changed.wait_for(lambda: self.count(method) >= times, seconds)
        assert came, f"{method} came {self.count(method)} times, not {times}"

    def wait_for_hang_up(self, *, seconds: float = 20.0) -> None:
        """Until no caller holds a connection any more."""
        with self._changed:
            assert self._changed.wait_for(lambda: not self._tasks, seconds)

    # --- Listening --------------------------------------------------------------------

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._in_loop(self._listen())
        return self

    def __exit__(self, *exception: object) -> None:
        self._in_loop(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_SECONDS)
        self._loop.close()

    def _in_loop(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(_SECONDS)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, self.host, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        self._server.close()
        left = list(self._tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self._loop.shutdown_asyncgens()

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        self.connections += 1
        try:
            # Who called may be gone, and this peer be closed, at any point.
            with contextlib.suppress(ConnectionError, asyncio.CancelledError, EOFError):
                received = await _read(reader)
                self._keep(received)
                await self._script(received)(Exchange(received=received, writer=writer))
                await writer.drain()
        finally:
            writer.close()
            with self._changed:
                self._tasks.discard(task)
                self._changed.notify_all()

    def _keep(self, received: Received) -> None:
        with self._changed:
            self.received.append(received)
            self._changed.notify_all()


def answering(
    status: int = 200, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> Script:
    """A whole answer of HTTP."""

    async def answer(exchange: Exchange) -> None:
        await exchange.send(head(status, {"Content-Length": len(body)}, headers), body)

    return answer


def head(status: int, *headers: Mapping[str, object] | None) -> bytes:
    named = {"Connection": "close"}
    for some in headers:
        named |= {name: str(value) for name, value in (some or {}).items()}
    lines = [f"HTTP/1.1 {status} .", *(f"{name}: {named[name]}" for name in named)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


async def _unknown_method(exchange: Exchange) -> None:
    error = {"code": -32601, "message": "There is no such method."}
    reply = {"jsonrpc": "2.0", "id": exchange.received.id, "error": error}
    await answering(200, json.dumps(reply).encode())(exchange)


async def _read(reader: asyncio.StreamReader) -> Received:
    request, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    verb, path, _ = request.split(" ")
    named = (line.partition(":") for line in lines if line)
    headers = {name.lower(): value.strip() for name, _, value in named}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(verb=verb, path=path, headers=headers, body=body)
