"""Requests over real sockets on loopback; a stub of DNS says where names lead."""

from __future__ import annotations

from tests.egress import peers


async def test_asks_and_reads_an_answer() -> None:
    """E5."""
    async with (
        peers.serving(peers.answering(peers.OK)) as peer,
        peers.opened(peer) as c,
    ):
        answer = await c.request("POST", peer.url(path="/a?b=%20c"), content=b"hello")

    assert (answer.status, answer.body) == (200, b"ok")
    head, body = peer.requests[0].split(b"\r\n\r\n")
    assert head.splitlines() == [
        b"POST /a?b=%20c HTTP/1.1",
        b"Host: peer.test:%d" % peer.port,
        b"Accept-Encoding: identity",
        b"Content-Length: 5",
    ]
    assert body == b"hello"
    assert peer.names == ["peer.test"]
