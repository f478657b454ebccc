"""E6, B126: where a caller follows redirects, each target is a new URL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from egress import redirects
from egress.errors import BadAnswer, EgressError, Reason, Refused
from tests.egress import peers

if TYPE_CHECKING:
    from tests.egress.peers import Exchange, Peer

HEADERS = {"Accept": "text/html"}
CREDENTIALS = {"Authorization": "Bearer s3cret"}
FOUND = b"302 Found"


def _to(location: str, status: bytes = FOUND) -> bytes:
    return peers.with_body(b"", b"Location: " + location.encode(), status=status)


async def _get(peer: Peer, *others: Peer, path: str = "/") -> redirects.Landed:
    async with peers.opened(peer, *others, allow_http=True) as client:
        return await redirects.get(
            client, peer.url(path=path), headers=HEADERS, credentials=CREDENTIALS
        )


async def _answer_by_path(exchange: Exchange) -> None:
    """`/3` leads to `/2`, and so on to `/0`; `/loop` to itself."""
    path = exchange.request.split()[1].decode()
    if path == "/0":
        await exchange.send(peers.OK)
    elif path == "/loop":
        await exchange.send(_to("/loop"))
    else:
        await exchange.send(_to(f"{int(path[1:]) - 1}"))


async def test_follows_three_and_tells_where_it_ended() -> None:
    async with peers.serving(_answer_by_path) as peer:
        landed = await _get(peer, path="/3")

    assert landed.answer.body == b"ok"
    assert landed.url == peer.url(path="/0")
    assert len(peer.requests) == 4


@pytest.mark.parametrize("path", ["/4", "/loop"])
async def test_follows_no_more_than_three(path: str) -> None:
    async with peers.serving(_answer_by_path) as peer:
        with pytest.raises(BadAnswer) as failure:
            await _get(peer, path=path)

    assert failure.value.reason is Reason.TOO_MANY_REDIRECTS
    assert len(peer.requests) == 4


@pytest.mark.parametrize("status", [b"301 M", b"302 F", b"303 S", b"307 T", b"308 P"])
async def test_credentials_stay_with_their_origin(status: bytes) -> None:
    """Another name and another port are other origins."""
    async with peers.serving(peers.answering(peers.OK)) as target:
        for host in ("other.test", "peer.test"):
            raw = _to(target.url(host), status)
            async with peers.serving(peers.answering(raw)) as peer:
                await _get(peer, target)
                assert b"s3cret" in peer.requests[0]

    assert len(target.requests) == 2
    for request in target.requests:
        assert b"s3cret" not in request
        assert b"text/html" in request


async def test_credentials_do_not_come_back_with_the_way_back() -> None:
    async def lead_back(exchange: Exchange) -> None:
        await exchange.send(_to(start.url(path="/end")))

    async def lead_away(exchange: Exchange) -> None:
        is_end = b" /end " in exchange.request
        await exchange.send(peers.OK if is_end else _to(other.url("other.test")))

    async with peers.serving(lead_away) as start, peers.serving(lead_back) as other:
        await _get(start, other)

    assert b"s3cret" in start.requests[0]
    assert b"s3cret" not in start.requests[1]


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("http://127.0.0.1:9/", Reason.DOWNGRADE),
        ("http://peer.test/", Reason.DOWNGRADE),
        ("https://127.0.0.1:9/", Reason.PORT),
        ("https://stranger.test/", Reason.NOT_ALLOWED),
        ("//stranger.test/x", Reason.NOT_ALLOWED),
        ("https://u:p@other.test/", Reason.USERINFO),
        ("file:///etc/passwd", Reason.SCHEME),
        (r"https://peer.test\@evil.test/", Reason.BAD_URL),
        ("https://[::1/", Reason.BAD_URL),
        ("/a b", Reason.BAD_URL),
        ("https://localhost/", Reason.NOT_PUBLIC),
    ],
)
async def test_each_target_is_judged_as_new(location: str, reason: Reason) -> None:
    async with peers.serving(peers.answering(_to(location))) as peer:
        with pytest.raises(EgressError) as failure:
            await _get(peer)

    assert isinstance(failure.value, Refused)
    assert failure.value.reason is reason
    assert len(peer.requests) == 1


async def test_a_redirect_to_nowhere_is_an_answer() -> None:
    async with peers.serving(
        peers.answering(peers.with_body(b"", status=FOUND))
    ) as peer:
        landed = await _get(peer)

    assert landed.answer.status == 302


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("c", "https://a.test/b/c"),
        ("/c?d", "https://a.test/c?d"),
        ("?d", "https://a.test/b/x?d"),
        ("//b.test/c", "https://b.test/c"),
        ("https://b.test:8443/c", "https://b.test:8443/c"),
    ],
)
def test_reads_a_location_against_the_url(location: str, expected: str) -> None:
    assert redirects.target_of("https://a.test/b/x", location) == expected
