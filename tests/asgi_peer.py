"""A peer that talks ASGI to an application, without a server in between.

`ask` sends one request and collects the answer. The body goes out in pieces, so that a
test decides what has arrived when; `Peer` gives a test the steps one by one.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from a2a_server.asgi_types import Application, Message

Header = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> Any:
        return self.json["error"]

    @property
    def reasons(self) -> list[str]:
        details = self.error.get("data", [])
        return [detail["reason"] for detail in details if "reason" in detail]


def make_scope(
    path: str = "/a2a",
    *,
    method: str = "POST",
    host: str = "gateway.example",
    scheme: str = "https",
    headers: Iterable[Header] = (),
    query: bytes = b"",
    client: tuple[str, int] | None = ("192.0.2.7", 50000),
) -> dict[str, Any]:
    named = [("host", host), *headers]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": scheme,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in named],
        "client": client,
        "server": ("127.0.0.1", 8000),
    }


@dataclass(slots=True)
class Peer:
    """`pieces` are given out one at a time; then the peer waits, until it hangs up.

    `is_listened_to` says that the application waits for what comes after them.
    """

    pieces: list[bytes] = field(default_factory=lambda: [b""])
    is_endless: bool = False
    sent: list[Message] = field(default_factory=list)
    taken: int = 0
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    is_listened_to: asyncio.Event = field(default_factory=asyncio.Event)

    async def receive(self) -> Message:
        if self.pieces:
            piece = self.pieces.pop(0)
            self.taken += len(piece)
            more = bool(self.pieces) or self.is_endless
            if self.is_endless and not self.pieces:
                self.pieces.append(piece)
            return {"type": "http.request", "body": piece, "more_body": more}
        self.is_listened_to.set()
        await self.hung_up.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    @property
    def answer(self) -> Answer:
        start, *rest = self.sent
        assert start["type"] == "http.response.start"
        assert not rest[-1].get("more_body")
        return Answer(
            status=start["status"],
            headers={k.decode().lower(): v.decode() for k, v in start["headers"]},
            body=b"".join(message.get("body", b"") for message in rest),
        )


async def ask(
    application: Application,
    scope: dict[str, Any],
    pieces: Sequence[bytes] = (b"",),
    *,
    is_endless: bool = False,
) -> Answer:
    peer = Peer(list(pieces), is_endless)
    sized = scope if is_endless else _with_length(scope, sum(map(len, pieces)))
    await application(sized, peer.receive, peer.send)
    return peer.answer


def _with_length(scope: dict[str, Any], length: int) -> dict[str, Any]:
    """As peers send it, unless the scope says something of the body itself."""
    told = {b"content-length", b"transfer-encoding"}
    if not length or any(name in told for name, _ in scope["headers"]):
        return scope
    own = (b"content-length", str(length).encode())
    return {**scope, "headers": [*scope["headers"], own]}


def ask_once(
    application: Application,
    scope: dict[str, Any],
    pieces: Sequence[bytes] = (b"",),
    *,
    is_endless: bool = False,
) -> Answer:
    """`ask` in an event loop of its own."""
    return asyncio.run(ask(application, scope, pieces, is_endless=is_endless))


def rpc_body(method: str, params: Any = None, **members: Any) -> bytes:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return json.dumps(request | members).encode()


def rpc_headers(authorization: str, *more: Header) -> list[Header]:
    return [
        ("content-type", "application/json"),
        ("a2a-version", "1.0"),
        ("authorization", authorization),
        *more,
    ]


async def elsewhere(scope: Any, receive: Any, send: Any) -> None:
    """The application behind: says only that it was asked."""
    body = b"elsewhere"
    await send({"type": "http.response.start", "status": 418, "headers": []})
    await send({"type": "http.response.body", "body": body})
