"""Where sockets go, and what TLS is asked for; real TLS on loopback."""

from __future__ import annotations

import asyncio
import datetime
import ssl
import sys
from typing import TYPE_CHECKING

import pytest
import trustme

from egress.addresses import is_public
from egress.client import Limits
from egress.errors import Reason, Refused, Unreachable
from egress.transport import GuardedBackend
from tests.egress import peers
from tests.egress.peers import StubResolver

if TYPE_CHECKING:
    from collections.abc import Sequence

    from egress.addresses import Address
    from egress.errors import EgressError
    from tests.egress.peers import Peer


async def _failure(
    peer: Peer, url: str, resolver: StubResolver | None = None
) -> EgressError:
    async with peers.opened(peer, resolver=resolver) as client:
        with pytest.raises((Refused, Unreachable)) as failure:
            await client.request("GET", url)
    assert not failure.value.has_left
    return failure.value


# --- Names and sockets ----------------------------------------------------------------


async def test_the_name_stays_while_the_socket_goes_to_the_judged_address() -> None:
    """E5."""
    resolver = StubResolver(peer_test=[["127.0.0.1"]])
    async with (
        peers.serving(peers.answering(peers.OK)) as peer,
        peers.opened(peer, resolver=resolver) as client,
    ):
        await client.request("GET", peer.url("peer.test"))

    assert peer.names == ["peer.test"]
    assert b"Host: peer.test:" in peer.requests[0]
    assert resolver.asked == ["peer.test"]


async def test_two_names_on_one_address_never_share_a_connection() -> None:
    """E5."""
    async with (
        peers.serving(peers.answering(peers.OK)) as peer,
        peers.opened(peer) as client,
    ):
        for host in ("peer.test", "other.test", "peer.test", "other.test"):
            await client.request("GET", peer.url(host))

    assert peer.connections == 2
    assert peer.names == ["peer.test", "other.test"]


async def test_a_name_is_asked_once_for_each_socket() -> None:
    """E5, B124."""
    resolver = StubResolver()

    async def answer_and_close(exchange: peers.Exchange) -> None:
        await exchange.send(peers.with_body(b"", b"Connection: close"))

    async with (
        peers.serving(answer_and_close) as peer,
        peers.opened(peer, resolver=resolver) as client,
    ):
        for _ in range(3):
            await client.request("GET", peer.url())

    assert resolver.asked == ["peer.test"] * 3
    assert peer.connections == 3


async def test_a_kept_connection_is_used_without_asking_again() -> None:
    """E5."""
    resolver = StubResolver(peer_test=[["127.0.0.1"], ["10.0.0.1"]])
    async with (
        peers.serving(peers.answering(peers.OK)) as peer,
        peers.opened(peer, resolver=resolver) as client,
    ):
        for _ in range(3):
            await client.request("GET", peer.url())

    assert (peer.connections, resolver.asked) == (1, ["peer.test"])


async def test_a_name_that_leads_elsewhere_the_second_time_gains_nothing() -> None:
    """E5, B124: the peer closes, so that a second socket is needed."""
    resolver = StubResolver(peer_test=[["127.0.0.1"], ["10.0.0.1"]])
    closing = peers.answering(peers.with_body(b"", b"Connection: close"))
    async with (
        peers.serving(closing) as peer,
        peers.opened(peer, resolver=resolver) as client,
    ):
        await client.request("GET", peer.url())
        with pytest.raises(Refused) as refusal:
            await client.request("GET", peer.url())

    assert refusal.value.reason is Reason.NOT_PUBLIC
    assert peer.connections == 1


async def test_a_rebound_name_never_reaches_the_canary_on_loopback() -> None:
    """E5, B124: judged as the product judges."""
    resolver = StubResolver(canary_peer_test=[["127.0.0.1"]])
    async with (
        peers.serving(peers.answering(peers.OK)) as canary,
        peers.opened(canary, resolver=resolver, is_public=is_public) as client,
    ):
        with pytest.raises(Refused) as refusal:
            await client.request("GET", canary.url("canary.peer.test"))

    assert refusal.value.reason is Reason.NOT_PUBLIC
    assert canary.connections == 0


@pytest.mark.parametrize(
    "found",
    [
        ["127.0.0.1", "10.0.0.5"],
        ["10.0.0.5", "127.0.0.1"],
        ["127.0.0.1", "fd00::1"],
    ],
)
async def test_mixed_answers_open_no_socket(found: list[str]) -> None:
    """E2, B123."""
    async with peers.serving(peers.answering(peers.OK)) as peer:
        failure = await _failure(peer, peer.url(), StubResolver(peer_test=[found]))

    assert failure.reason is Reason.NOT_PUBLIC
    assert peer.connections == 0


async def test_a_name_without_an_address_cannot_be_reached() -> None:
    """E2."""
    async with peers.serving(peers.answering(peers.OK)) as peer:
        failure = await _failure(peer, peer.url(), StubResolver(peer_test=[[]]))

    assert failure.reason is Reason.NO_ADDRESS


async def test_an_address_in_the_url_is_judged_and_not_resolved() -> None:
    """E2."""
    resolver = StubResolver()
    async with (
        peers.serving(peers.answering(peers.OK), names=["127.0.0.1"]) as peer,
        peers.opened(peer, resolver=resolver) as client,
    ):
        answer = await client.request("GET", peer.url("127.0.0.1"))

    assert answer.status == 200
    assert resolver.asked == []


async def test_the_next_address_is_tried_where_one_refuses() -> None:
    """E5: nobody listens on ::1."""
    resolver = StubResolver(peer_test=[["::1", "127.0.0.1"]])
    async with (
        peers.serving(peers.answering(peers.OK)) as peer,
        peers.opened(peer, resolver=resolver) as client,
    ):
        answer = await client.request("GET", peer.url())

    assert answer.status == 200
    assert peer.connections == 1


@pytest.mark.allow_hosts(["127.0.0.1", "127.0.0.9"])
@pytest.mark.skipif(sys.platform != "linux", reason="It is Linux that drops them.")
async def test_an_address_that_says_nothing_leaves_time_for_the_next() -> None:
    """E5: each may take its part of the time to connect, and not all of it."""
    resolver = StubResolver(peer_test=[["127.0.0.9", "127.0.0.1"]])
    limits = Limits(connect_seconds=2)
    async with peers.serving(peers.answering(peers.OK)) as peer:
        with peers.deaf("127.0.0.9", peer.port):
            async with peers.opened(peer, resolver=resolver, limits=limits) as client:
                answer = await client.request("GET", peer.url("peer.test"))

    assert answer.status == 200


async def test_says_that_nobody_listens() -> None:
    async with peers.serving(peers.answering(peers.OK)) as peer:
        pass

    failure = await _failure(peer, peer.url())

    assert failure.reason is Reason.CONNECT_FAILED
    assert f"port {peer.port}" in failure.sentence


async def test_a_socket_of_this_host_is_no_way_out() -> None:
    backend = GuardedBackend(
        policy=peers.policy_for(), resolver=StubResolver(), connect_seconds=1
    )

    with pytest.raises(NotImplementedError):
        await backend.connect_unix_socket("/run/docker.sock")


# --- TLS ------------------------------------------------------------------------------


async def test_a_certificate_for_another_name_is_refused() -> None:
    """E5."""
    async with peers.serving(peers.answering(peers.OK), names=["other.test"]) as peer:
        failure = await _failure(peer, peer.url("peer.test"))

    assert failure.reason is Reason.CERTIFICATE
    assert "«peer.test» was issued for another name" in failure.sentence
    assert peer.requests == []


async def test_a_certificate_for_a_name_is_none_for_the_address() -> None:
    """E5."""
    async with peers.serving(peers.answering(peers.OK), names=["peer.test"]) as peer:
        failure = await _failure(peer, peer.url("127.0.0.1"))

    assert failure.reason is Reason.CERTIFICATE
    assert "for another name" in failure.sentence


async def test_a_certificate_of_an_unknown_authority_is_refused() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("peer.test").configure_cert(context)
    async with peers.serving(peers.answering(peers.OK), tls=context) as peer:
        failure = await _failure(peer, peer.url())

    assert failure.reason is Reason.CERTIFICATE
    assert "by nobody whom this installation trusts" in failure.sentence


async def test_a_certificate_that_is_over_is_refused() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    over = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    peers.authority().issue_cert("peer.test", not_after=over).configure_cert(context)
    async with peers.serving(peers.answering(peers.OK), tls=context) as peer:
        failure = await _failure(peer, peer.url())

    assert failure.reason is Reason.CERTIFICATE
    assert "for a time that is over" in failure.sentence


async def test_a_peer_that_speaks_no_tls_is_told_apart() -> None:
    async def speak_first(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(b"220 mail.test ESMTP\r\n")
        await reader.read()

    async with peers.listening(speak_first) as port:
        peer = peers.Peer(peers.answering(b""), port=port)
        failure = await _failure(peer, peer.url())

    assert failure.reason is Reason.TLS


async def test_one_limit_covers_dns_tcp_and_tls() -> None:
    """E7."""
    limits = Limits(connect_seconds=0.2)
    async with peers.silent() as peer, peers.opened(peer, limits=limits) as client:
        with pytest.raises(Unreachable) as failure:
            await client.request("GET", peer.url())

    assert peer.connections == 1
    assert failure.value.reason is Reason.TLS


async def test_what_dns_took_is_missing_for_tls() -> None:
    """E7: a second limit for TLS would end after the deadline of the whole."""

    class SlowResolver(StubResolver):
        async def resolve(self, host: str, *, seconds: float) -> Sequence[Address]:
            await asyncio.sleep(0.6)
            return await super().resolve(host, seconds=seconds)

    limits = Limits(connect_seconds=1, total_seconds=1.4)
    async with (
        peers.silent() as peer,
        peers.opened(peer, limits=limits, resolver=SlowResolver()) as client,
    ):
        with pytest.raises(Unreachable) as failure:
            await client.request("GET", peer.url())

    assert failure.value.reason is Reason.TLS
