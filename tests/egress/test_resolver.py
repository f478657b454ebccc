"""What DNS answers, asked of a name server on loopback."""

from __future__ import annotations

import asyncio
import time

import pytest
from dns.rcode import Rcode

from egress.errors import Reason, Unreachable
from egress.policy import Policy, judge_addresses
from egress.resolver import DNSResolver
from tests.egress import dns_server

A = "agent.test. 0 IN A 8.8.8.8"
AAAA = "agent.test. 0 IN AAAA 2606:4700::1"


async def _resolve(server: dns_server.NameServer, seconds: float = 5) -> list[str]:
    resolver = DNSResolver([server.address])
    found = await resolver.resolve("agent.test", seconds=seconds)
    return [str(address) for address in found]


async def _reason(server: dns_server.NameServer, seconds: float = 5) -> Reason:
    with pytest.raises(Unreachable) as failure:
        await _resolve(server, seconds)
    assert "«agent.test»" in failure.value.sentence
    assert not failure.value.has_left
    return failure.value.reason


async def test_asks_for_both_kinds_of_addresses_by_the_absolute_name() -> None:
    """E2."""
    async with dns_server.serving(A=[A], AAAA=[AAAA]) as server:
        found = await _resolve(server)

    assert found == ["8.8.8.8", "2606:4700::1"]
    assert sorted(server.asked) == ["agent.test. A", "agent.test. AAAA"]


@pytest.mark.parametrize("other", [[], Rcode.NXDOMAIN, Rcode.SERVFAIL, Rcode.REFUSED])
async def test_one_kind_may_fail_while_the_other_answers(
    other: dns_server.Reply,
) -> None:
    """E2, B123."""
    async with dns_server.serving(A=[A], AAAA=other) as server:
        assert await _resolve(server) == ["8.8.8.8"]
    async with dns_server.serving(A=other, AAAA=[AAAA]) as server:
        assert await _resolve(server) == ["2606:4700::1"]


async def test_one_kind_may_be_silent_while_the_other_answers() -> None:
    """E2."""
    async with dns_server.serving(A=[A], AAAA=None) as server:
        assert await _resolve(server, 0.5) == ["8.8.8.8"]


async def test_follows_a_cname_to_the_address_that_is_judged() -> None:
    """E2, B123."""
    answer = ["agent.test. 0 IN CNAME internal.corp.test."]
    answer.append("internal.corp.test. 0 IN A 192.168.0.2")
    async with dns_server.serving(A=answer, AAAA=[]) as server:
        resolver = DNSResolver([server.address])
        found = await resolver.resolve("agent.test", seconds=5)

    assert [str(address) for address in found] == ["192.168.0.2"]
    with pytest.raises(Exception, match="public internet"):
        judge_addresses(Policy(group="t"), found, host="agent.test", port=443)


async def test_a_loop_of_cnames_leads_nowhere() -> None:
    """B123."""
    loop = ["agent.test. 0 IN CNAME b.test.", "b.test. 0 IN CNAME agent.test."]
    async with dns_server.serving(A=loop, AAAA=loop) as server:
        assert await _reason(server, 1) in {Reason.NO_ADDRESS, Reason.DNS_FAILED}


@pytest.mark.parametrize(
    ("a", "aaaa", "expected"),
    [
        (Rcode.NXDOMAIN, Rcode.NXDOMAIN, Reason.NO_ADDRESS),
        ([], [], Reason.NO_ADDRESS),
        (Rcode.SERVFAIL, Rcode.SERVFAIL, Reason.DNS_FAILED),
        (Rcode.SERVFAIL, [], Reason.DNS_FAILED),
        (Rcode.NXDOMAIN, Rcode.SERVFAIL, Reason.DNS_FAILED),
    ],
)
async def test_no_answer_cannot_be_reached(
    a: dns_server.Reply, aaaa: dns_server.Reply, expected: Reason
) -> None:
    """E2, B123."""
    async with dns_server.serving(A=a, AAAA=aaaa) as server:
        assert await _reason(server) is expected


async def test_a_silent_name_server_costs_no_more_than_its_time() -> None:
    """E2."""
    began = time.monotonic()
    async with dns_server.serving(A=None, AAAA=None) as server:
        assert await _reason(server, 0.3) is Reason.DNS_FAILED

    assert time.monotonic() - began < 3


async def test_whoever_cancels_is_heard() -> None:
    async with dns_server.serving(A=None, AAAA=None) as server:
        task = asyncio.create_task(_resolve(server))
        await server.both_asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_files_of_this_host_are_not_read() -> None:
    """E2: /etc/hosts knows «localhost»; this name server does not."""
    async with dns_server.serving() as server:
        with pytest.raises(Unreachable):
            await DNSResolver([server.address]).resolve("localhost", seconds=5)

    assert sorted(server.asked) == ["localhost. A", "localhost. AAAA"]


@pytest.mark.parametrize(
    "text", ["dns.example", "", "9.9.9.0/24", "127.0.0.1:0", "*.1.1.1.1", "53"]
)
def test_refuses_what_is_no_name_server(text: str) -> None:
    with pytest.raises(ValueError, match="«"):
        DNSResolver([text])


@pytest.mark.parametrize("text", ["9.9.9.9", "9.9.9.9:5353", "[2620:fe::fe]:53", "::1"])
def test_takes_addresses_of_name_servers(text: str) -> None:
    assert DNSResolver([text])


def test_the_system_s_name_servers_are_asked_otherwise() -> None:
    assert DNSResolver()._resolver.nameservers
