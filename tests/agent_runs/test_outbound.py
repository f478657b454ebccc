from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from django.conf import settings as project

from agent_runs import outbound
from egress import policy
from egress.errors import Reason, Refused
from tests.egress import peers

if TYPE_CHECKING:
    from pytest_django.fixtures import SettingsWrapper

    from egress.client import Answer

GROUP = "a2a_remote_agent"


def _reason(url: str, group: str = GROUP) -> Reason | None:
    try:
        policy.judge_url(outbound.policy_for(group), url)
    except Refused as refusal:
        return refusal.reason
    return None


@pytest.mark.parametrize("group", ["", "llm", "A2A_REMOTE_AGENT"])
def test_an_unknown_group_may_not_go_out(group: str) -> None:
    """E1."""
    assert _reason("https://agent.test/", group) is Reason.UNKNOWN_GROUP


async def test_an_unknown_group_opens_no_client() -> None:
    """E1."""
    with pytest.raises(Refused):
        async with outbound.open_client("llm"):
            pass


@pytest.mark.parametrize("group", outbound.GROUPS)
def test_each_group_has_lists_of_its_own(group: str, settings: SettingsWrapper) -> None:
    """E1."""
    names = outbound.GROUPS[group]
    setattr(settings, names.allow, ["good.test", "bad.test"])
    setattr(settings, names.deny, ["bad.test"])

    assert _reason("https://good.test/", group) is None
    assert _reason("https://bad.test/", group) is Reason.DENIED
    assert _reason("https://other.test/", group) is Reason.NOT_ALLOWED
    for other in outbound.GROUPS.keys() - {group}:
        assert _reason("https://other.test/", other) is None


def test_base_urls_and_allowed_hosts_are_hosts_of_this_installation() -> None:
    """E2."""
    assert "gateway.example" in project.A2A_EGRESS_OWN_HOSTS
    assert "testserver" in project.A2A_EGRESS_OWN_HOSTS
    assert _reason("https://gateway.example/a2a") is Reason.OWN_HOST


def test_reads_own_hosts_as_the_guard_writes_them() -> None:
    hosts = ["Gateway.Example.", "[2001:DB8:0::1]", "*", "no host", "10.0.0.1"]

    assert outbound.own_hosts(hosts) == {"gateway.example", "2001:db8::1", "10.0.0.1"}


def test_plain_http_follows_its_setting(settings: SettingsWrapper) -> None:
    """E2."""
    assert _reason("http://agent.test/") is Reason.SCHEME

    settings.A2A_EGRESS_ALLOW_HTTP = True

    assert _reason("http://agent.test/") is None


@pytest.mark.parametrize("debug", [True, False])
def test_loopback_needs_debug_and_its_setting(
    settings: SettingsWrapper, debug: bool
) -> None:
    """E4: not even where nobody ran the checks."""
    settings.DEBUG = debug
    settings.A2A_EGRESS_ALLOW_LOOPBACK = True

    assert outbound.policy_for(GROUP).allow_loopback is debug


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("A2A_EGRESS_REMOTE_AGENT_ALLOW", ["203.0.113.0/24"]),
        ("A2A_EGRESS_REMOTE_AGENT_DENY", ["a b"]),
        ("A2A_EGRESS_NAMESERVERS", ["dns.example"]),
        ("A2A_EGRESS_CA_FILE", "/nowhere/ca.pem"),
    ],
)
async def test_what_cannot_be_read_lets_nothing_through(
    settings: SettingsWrapper, name: str, value: object
) -> None:
    setattr(settings, name, value)

    with pytest.raises(Refused, match=name) as refusal:
        async with outbound.open_client(GROUP):
            pass

    assert refusal.value.reason is Reason.MISCONFIGURED
    assert "nowhere" not in refusal.value.sentence


# --- Over real sockets ----------------------------------------------------------------


@pytest.fixture
def trial(settings: SettingsWrapper) -> None:
    settings.DEBUG = True
    settings.A2A_EGRESS_ALLOW_LOOPBACK = True
    settings.A2A_EGRESS_OWN_HOSTS = ["localhost"]


@pytest.mark.usefixtures("trial")
async def test_asks_a_peer_of_a_trial() -> None:
    """E4."""
    async with (
        peers.serving(peers.answering(peers.OK), tls=False) as peer,
        outbound.open_client(GROUP) as client,
    ):
        answer = await client.request("GET", peer.url("127.0.0.1", scheme="http"))

    assert answer.body == b"ok"


@pytest.mark.usefixtures("trial")
async def test_asks_from_a_thread_too() -> None:
    async with peers.serving(peers.answering(peers.OK), tls=False) as peer:
        url = peer.url("127.0.0.1", scheme="http")

        def ask() -> Answer:
            return outbound.request(GROUP, "POST", url, content=b"hello")

        answer = await asyncio.to_thread(ask)

    assert answer.body == b"ok"
    assert peer.requests[0].endswith(b"hello")
