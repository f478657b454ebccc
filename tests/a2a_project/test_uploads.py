from __future__ import annotations

import asyncio
from typing import Any

import pytest
from django.conf import settings

from a2a_project.asgi import application
from a2a_project.uploads import BoundedUploads
from tests.asgi_peer import Peer, ask_once, make_scope

LIMIT = settings.FILE_UPLOAD_MAX_MEMORY_SIZE
CHUNKED = ("transfer-encoding", "chunked")


class Behind:
    """Keeps the body that it was given, and answers it with 418."""

    body: bytes | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.body = b""
        more = True
        while more:
            message = await receive()
            self.body += message.get("body", b"")
            more = message.get("more_body", False)
        await send({"type": "http.response.start", "status": 418, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def scope(*headers: tuple[str, str], path: str = "/admin/login/") -> dict[str, Any]:
    return make_scope(path, headers=headers, host="localhost")


@pytest.mark.parametrize(
    ("headers", "pieces"),
    [
        ([], [b""]),
        ([("content-length", "0")], [b""]),
        ([("content-length", "4")], [b"body"]),
        ([CHUNKED], [b"bo", b"dy"]),
        ([CHUNKED], [b"b" * (LIMIT - 1), b"b"]),
    ],
    ids=["no body", "empty", "one piece", "two pieces", "at the bound"],
)
def test_passes_on_what_is_within_its_bounds(
    headers: list[tuple[str, str]], pieces: list[bytes]
) -> None:
    behind = Behind()

    answer = ask_once(BoundedUploads(behind), scope(*headers), pieces)

    assert answer.status == 418
    assert behind.body == b"".join(pieces)


@pytest.mark.parametrize(
    "headers",
    [[("content-length", str(LIMIT + 1))], [("content-length", "4")], [CHUNKED]],
    ids=["said", "not as said", "not said"],
)
def test_refuses_an_endless_body_before_anybody_reads_it(
    headers: list[tuple[str, str]],
) -> None:
    """S41: it costs neither memory nor disk, whatever its address."""
    behind = Behind()
    peer = Peer([b"b" * 65_536], is_endless=True)

    asyncio.run(BoundedUploads(behind)(scope(*headers), peer.receive, peer.send))

    assert peer.answer.status == 413
    assert peer.answer.headers["connection"] == "close"
    assert peer.answer.headers["content-type"].startswith("text/plain")
    assert behind.body is None
    assert peer.taken < LIMIT + 3 * 65_536


def test_gives_up_on_a_body_that_does_not_come() -> None:
    behind = Behind()

    async def stall() -> Peer:
        peer = Peer([b"bo", b"d"], is_endless=True)
        work = BoundedUploads(behind, seconds=0.05)(
            scope(CHUNKED), _stalling(peer), peer.send
        )
        await work
        return peer

    peer = asyncio.run(stall())

    assert peer.answer.status == 408
    assert behind.body is None


def _stalling(peer: Peer) -> Any:
    """Two pieces come, the third never does; discarding ends with the peer."""
    calls = 0

    async def receive() -> Any:
        nonlocal calls
        calls += 1
        if calls <= 2:
            return await peer.receive()
        if calls == 3:
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    return receive


def test_lets_go_of_a_peer_that_hangs_up() -> None:
    behind = Behind()
    peer = Peer([])
    peer.hung_up.set()

    asyncio.run(BoundedUploads(behind)(scope(CHUNKED), peer.receive, peer.send))

    assert peer.sent == []
    assert behind.body is None


@pytest.mark.parametrize("path", ["/admin/login/", "/a2a", "/nowhere"])
def test_stands_in_front_of_every_other_address(path: str) -> None:
    """Also of a base URL's path on a host that has none."""
    answer = ask_once(
        application, scope(CHUNKED, path=path), [b"b" * 65_536], is_endless=True
    )

    assert answer.status == 413
