from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from a2a_protocol.errors import ProtocolError
from a2a_server import bodies
from tests.asgi_peer import Peer, make_scope

if TYPE_CHECKING:
    from a2a_server.asgi_types import Message


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON",
        "application/json;charset=UTF-8",
        'application/json ; charset="utf-8"',
        "application/json; charset=utf8; version=1",
        "application/json;",
        "application/a2a+json",
    ],
)
def test_takes_json_in_utf_8(content_type: str) -> None:
    """S15, B018: parameters and case are ignored, the charset is not."""
    bodies.refuse_media_type(make_scope(headers=[("content-type", content_type)]))


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("content-type", "")],
        [("content-type", "text/plain")],
        [("content-type", "application/x-www-form-urlencoded")],
        [("content-type", "application/jsonp")],
        [("content-type", "application/json; charset=latin-1")],
        [("content-type", "application/json; charset=utf-8; charset=utf-16")],
        [("content-type", "application/json"), ("content-type", "application/json")],
        [("content-type", "application/json"), ("content-encoding", "gzip")],
        [("content-type", "application/json"), ("content-encoding", "identity, br")],
    ],
)
def test_refuses_every_other_media_type(headers: list[tuple[str, str]]) -> None:
    """S10, B018: none at all would be reachable by a cross-site request."""
    with pytest.raises(ProtocolError) as caught:
        bodies.refuse_media_type(make_scope(headers=headers))

    assert caught.value.http_status == 415
    assert caught.value.reason == "CONTENT_TYPE_NOT_SUPPORTED"


def test_names_the_media_type_that_it_takes() -> None:
    with pytest.raises(ProtocolError) as caught:
        bodies.refuse_media_type(make_scope(headers=[("content-type", "text/plain")]))

    assert "Content-Type: application/json" in caught.value.message


def test_takes_the_identity_encoding() -> None:
    headers = [("content-type", "application/json"), ("content-encoding", "Identity")]

    bodies.refuse_media_type(make_scope(headers=headers))


@pytest.mark.parametrize(
    ("headers", "is_announced"),
    [
        ([], False),
        ([("content-length", "0")], False),
        ([("content-length", "000")], False),
        ([("content-length", "1")], True),
        ([("transfer-encoding", "chunked")], True),
    ],
)
def test_knows_whether_there_is_a_body(
    headers: list[tuple[str, str]], is_announced: bool
) -> None:
    assert bodies.is_announced(make_scope(headers=headers)) is is_announced


def test_joins_the_pieces() -> None:
    peer = Peer([b"a", b"", b"b"])

    assert asyncio.run(bodies.read(peer.receive, 2)) == b"ab"


def test_a_body_that_stops_half_way_times_out() -> None:
    """S10, B014: 408 after the deadline, however little keeps coming."""
    peer = Peer([b"{"], is_endless=True)
    # One piece, then silence.
    silent = Peer([])

    async def receive() -> object:
        return await (peer if peer.taken == 0 else silent).receive()

    with pytest.raises(ProtocolError) as caught:
        asyncio.run(bodies.read(receive, 100, seconds=0.05))  # type: ignore[arg-type]

    assert caught.value.http_status == 408
    assert caught.value.reason == "REQUEST_TIMEOUT"


def test_a_dripping_body_times_out() -> None:
    """The deadline is for the whole body and not for each piece."""
    peer = Peer([b"x"], is_endless=True)

    async def receive() -> object:
        await asyncio.sleep(0.01)
        return await peer.receive()

    with pytest.raises(ProtocolError) as caught:
        asyncio.run(bodies.read(receive, 10_000, seconds=0.1))  # type: ignore[arg-type]

    assert caught.value.http_status == 408


def test_throws_away_no_longer_than_a_moment() -> None:
    peer = Peer([])

    asyncio.run(bodies.discard(peer.receive, seconds=0.01))

    assert peer.taken == 0


def test_throws_away_until_the_end() -> None:
    peer = Peer([b"a", b"b"])

    asyncio.run(bodies.discard(peer.receive))

    assert peer.taken == 2


# --- What is there already ------------------------------------------------------------


def _arrived(peer: Peer, *headers: tuple[str, str]) -> Message | None:
    async def look() -> Message | None:
        return bodies.arrived(make_scope(headers=headers), peer.receive)

    return asyncio.run(look())


def test_finds_a_small_body_that_the_server_holds() -> None:
    message = _arrived(Peer([b"{}"]), ("content-length", "2"))

    assert message is not None
    assert (bodies.is_whole(message), message["body"]) == (True, b"{}")


def test_goes_on_behind_the_part_that_the_server_held() -> None:
    peer = Peer([b"{", b"}"])

    async def look_and_read() -> tuple[bool, bytes]:
        scope = make_scope(headers=[("content-length", "2")])
        first = bodies.arrived(scope, peer.receive)
        assert first is not None
        return bodies.is_whole(first), await bodies.read(peer.receive, 2, first=first)

    assert asyncio.run(look_and_read()) == (False, b"{}")


def test_takes_nothing_from_a_body_that_is_still_on_its_way() -> None:
    peer = Peer([])

    async def look_and_read() -> tuple[Message | None, bytes]:
        scope = make_scope(headers=[("content-length", "2")])
        found = bodies.arrived(scope, peer.receive)
        peer.pieces.append(b"{}")
        return found, await bodies.read(peer.receive, 2)

    assert asyncio.run(look_and_read()) == (None, b"{}")


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("transfer-encoding", "chunked")],
        [("content-length", str(bodies.SMALL_BYTES + 1))],
        [("content-length", "9" * 5000)],
        [("content-length", "-1")],
        [("content-length", "2"), ("expect", "100-continue")],
    ],
)
def test_looks_for_nothing_but_a_small_body_that_comes_unasked(
    headers: list[tuple[str, str]],
) -> None:
    """S10: whoever is unknown yet sends no byte more for it."""
    peer = Peer([b"{}"])

    assert _arrived(peer, *headers) is None
    assert peer.taken == 0


def test_a_peer_that_hung_up_has_sent_no_body() -> None:
    peer = Peer([])
    peer.hung_up.set()

    message = _arrived(peer, ("content-length", "2"))

    assert message is not None
    assert not bodies.is_whole(message)
