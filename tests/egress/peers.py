"""What the guard's tests talk to: peers on loopback, a stub of DNS, and a policy.

A peer here is a script for one TCP connection. It counts connections and keeps what it
was sent, so that a test can say what never arrived.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import trustme

from egress import client
from egress.addresses import is_loopback
from egress.errors import Reason, Unreachable
from egress.policy import Policy

if TYPE_CHECKING:
    from collections.abc import (
        AsyncIterator,
        Awaitable,
        Callable,
        Iterator,
        Sequence,
    )

    from egress.addresses import Address
    from egress.client import Client, Limits

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass
class Peer:
    """`requests` are the whole requests, `names` what TLS was asked for (SNI)."""

    answer: Callable[[Exchange], Awaitable[None]]
    port: int = 0
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def url(
        self, host: str = "peer.test", path: str = "/", scheme: str = "https"
    ) -> str:
        return f"{scheme}://{host}:{self.port}{path}"


@dataclass
class Exchange:
    """One request that a peer has read, and the way back."""

    peer: Peer
    request: bytes
    writer: asyncio.StreamWriter

    async def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()

    def reset(self) -> None:
        """End the connection with RST, so that nothing more is read."""
        self.writer.transport.abort()


def answering(raw: bytes) -> Callable[[Exchange], Awaitable[None]]:
    async def answer(exchange: Exchange) -> None:
        await exchange.send(raw)

    return answer


def with_body(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    lines = [b"HTTP/1.1 " + status, b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


@asynccontextmanager
async def serving(
    answer: Callable[[Exchange], Awaitable[None]],
    *,
    names: Sequence[str] = ("peer.test", "*.peer.test", "other.test"),
    tls: ssl.SSLContext | bool = True,
) -> AsyncIterator[Peer]:
    """A peer on 127.0.0.1, with TLS for these names unless `tls` says otherwise."""
    peer = Peer(answer)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer.connections += 1
        while request := await _read_request(reader):
            peer.requests.append(request)
            peer.arrived.set()
            await answer(Exchange(peer, request, writer))

    context = server_context(*names, seen=peer.names) if tls is True else tls or None
    async with listening(serve, context) as port:
        peer.port = port
        yield peer


@asynccontextmanager
async def listening(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    context: ssl.SSLContext | None = None,
) -> AsyncIterator[int]:
    """A port on 127.0.0.1 whose connections are served so, and all gone at the end."""
    tasks: set[asyncio.Task[Any]] = set()

    async def follow(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task
        tasks.add(task)
        with suppress(ConnectionError, asyncio.CancelledError):
            await serve(reader, writer)
        writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()

    server = await asyncio.start_server(follow, "127.0.0.1", 0, ssl=context)
    # Asked for while it still listens: Python 3.11 waits for nothing afterwards.
    closed = asyncio.create_task(server.wait_closed())
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await closed


@asynccontextmanager
async def silent() -> AsyncIterator[Peer]:
    """A peer that takes connections and never says a word, not even of TLS."""
    peer = Peer(answering(b""))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer.connections += 1
        await reader.read()

    async with listening(serve) as port:
        peer.port = port
        yield peer


@contextmanager
def deaf(address: str, port: int) -> Iterator[None]:
    """Takes no connection there and refuses none: the queue of those that wait is full."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind((address, port))
        listener.listen(0)
        # Linux keeps one more than it was told.
        stack.enter_context(socket.create_connection((address, port)))
        yield


async def _read_request(reader: asyncio.StreamReader) -> bytes:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    return head + await reader.readexactly(length)


# --- TLS ------------------------------------------------------------------------------


@lru_cache
def authority() -> trustme.CA:
    return trustme.CA()


@lru_cache
def certificate(*names: str) -> trustme.LeafCert:
    return authority().issue_cert(*names)


def server_context(*names: str, seen: list[str | None]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate(*names).configure_cert(context)
    context.sni_callback = lambda _socket, name, _context: seen.append(name)
    return context


def client_context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority().configure_trust(context)
    return context


# --- DNS and policy -------------------------------------------------------------------


class StubResolver:
    """Gives each name its answers in turn, the last one for ever; `asked` are the names."""

    def __init__(self, **answers: Sequence[Sequence[str]]) -> None:
        self._answers = {
            name.replace("_", "."): [*map(_parsed, texts)]
            for name, texts in answers.items()
        }
        self.asked: list[str] = []

    async def resolve(self, host: str, *, seconds: float) -> Sequence[Address]:
        self.asked.append(host)
        answers = self._answers.get(host, [_parsed(["127.0.0.1"])])
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        if not found:
            raise Unreachable(Reason.NO_ADDRESS, f"DNS knows no address of «{host}».")
        return found


def _parsed(texts: Sequence[str]) -> tuple[Address, ...]:
    return tuple(map(ip_address, texts))


def public_or_loopback(address: Address) -> bool:
    """The classifier of these tests: loopback stands for the public, nothing else."""
    return is_loopback(address)


def policy_for(*peers: Peer, **choices: Any) -> Policy:
    """Admits every name, on the ports of these peers."""
    hosts = ("peer.test", "*.peer.test", "other.test", "127.0.0.1")
    allow = [f"{host}:{peer.port}" for host in hosts for peer in peers]
    chosen: dict[str, Any] = {"allow": allow, "is_public": public_or_loopback}
    return Policy(group="tests", **(chosen | choices))


@asynccontextmanager
async def opened(
    *peers: Peer,
    limits: Limits | None = None,
    resolver: StubResolver | None = None,
    **choices: Any,
) -> AsyncIterator[Client]:
    """A client that trusts the tests' authority and reaches these peers."""
    async with client.open_client(
        policy_for(*peers, **choices),
        limits=limits,
        resolver=resolver or StubResolver(),
        ssl_context=client_context(),
    ) as opened_client:
        yield opened_client
