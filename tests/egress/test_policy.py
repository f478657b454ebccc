from __future__ import annotations

import dataclasses
from ipaddress import ip_address
from typing import Any

import pytest

from egress import policy
from egress.errors import Reason, Refused
from egress.policy import Policy

PLAIN = Policy(group="tests")


def _reason(rules: Policy, url: str) -> Reason | None:
    """Why it is refused; None when it is not."""
    try:
        policy.judge_url(rules, url)
    except Refused as refusal:
        return refusal.reason
    return None


def _reason_of_addresses(
    rules: Policy, *found: str, host: str = "agent.test", port: int = 443
) -> Reason | None:
    addresses = [ip_address(text) for text in found]
    try:
        policy.judge_addresses(rules, addresses, host=host, port=port)
    except Refused as refusal:
        return refusal.reason
    return None


# --- Names ----------------------------------------------------------------------------


def test_lets_https_on_its_own_port_through() -> None:
    """E2."""
    target = policy.judge_url(PLAIN, "https://agent.test/a2a?x=1")

    assert dataclasses.asdict(target) == {
        "scheme": "https",
        "host": "agent.test",
        "port": 443,
        "path": "/a2a?x=1",
    }


def test_plain_http_needs_the_setting() -> None:
    """E2."""
    assert _reason(PLAIN, "http://agent.test/") is Reason.SCHEME
    assert _reason(PLAIN, "http://u:p@agent.test/") is Reason.SCHEME
    assert _reason(Policy(group="t", allow_http=True), "http://agent.test/") is None


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST.",
        "x.localhost",
        "localhost.localdomain",
        "printer.local",
        "metadata.google.internal",
        "router.home.arpa",
    ],
)
def test_names_of_this_host_and_its_network_lead_nowhere(host: str) -> None:
    """E2, B118: with the sentence of a private address."""
    assert _reason(PLAIN, f"https://{host}/") is Reason.NOT_PUBLIC


@pytest.mark.parametrize("host", ["notlocalhost", "internal.test", "local.test"])
def test_names_that_only_sound_like_it_are_free(host: str) -> None:
    assert _reason(PLAIN, f"https://{host}/") is None


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("gateway.test", Reason.OWN_HOST),
        ("GATEWAY.test.", Reason.OWN_HOST),
        ("[2001:db8:0:0::1]", Reason.OWN_HOST),
        ("other.gateway.test", None),
    ],
)
def test_the_installation_does_not_call_itself(
    host: str, expected: Reason | None
) -> None:
    """E2."""
    rules = Policy(
        group="t", own_hosts=frozenset({"gateway.test", "2001:db8::1"}), allow=()
    )

    assert _reason(rules, f"https://{host}/") is expected


def test_an_own_host_stays_refused_whatever_is_allowed() -> None:
    """E4."""
    rules = Policy(
        group="t", own_hosts=frozenset({"gateway.test"}), allow=["gateway.test"]
    )

    assert _reason(rules, "https://gateway.test/") is Reason.OWN_HOST


@pytest.mark.parametrize(
    ("lists", "url", "expected"),
    [
        ({"deny": ["bad.test"]}, "https://bad.test/", Reason.DENIED),
        ({"deny": ["bad.test"]}, "https://good.test/", None),
        ({"deny": ["bad.test"]}, "https://a.bad.test/", None),
        ({"deny": ["*.bad.test"]}, "https://a.bad.test/", Reason.DENIED),
        ({"deny": ["bad.test:8443"]}, "https://bad.test/", None),
        ({"deny": ["9.9.9.0/24"]}, "https://9.9.9.9/", Reason.DENIED),
        ({"deny": ["9.9.9.9"]}, "https://[::ffff:9.9.9.9]/", Reason.DENIED),
        ({"allow": ["good.test"]}, "https://good.test/", None),
        ({"allow": ["good.test"]}, "https://other.test/", Reason.NOT_ALLOWED),
        ({"allow": ["*.good.test"]}, "https://good.test/", Reason.NOT_ALLOWED),
        ({"allow": ["8.8.8.8"]}, "https://8.8.8.8/", None),
        # deny counts more, and comes first
        (
            {"allow": ["good.test"], "deny": ["good.test"]},
            "https://good.test/",
            Reason.DENIED,
        ),
        ({"allow": ["a.test"], "deny": ["b.test"]}, "https://b.test/", Reason.DENIED),
    ],
)
def test_lists_narrow(lists: dict[str, Any], url: str, expected: Reason | None) -> None:
    """E2, E4."""
    assert _reason(Policy(group="t", **lists), url) is expected


@pytest.mark.parametrize("port", [22, 25, 80, 6379, 8443, 11211])
def test_another_port_needs_the_allow_list(port: int) -> None:
    """E2, B128."""
    url = f"https://good.test:{port}/"

    assert _reason(PLAIN, url) is Reason.PORT
    assert _reason(Policy(group="t", allow=["good.test"]), url) is Reason.PORT
    assert _reason(Policy(group="t", allow=[f"good.test:{port}"]), url) is None


def test_an_entry_with_a_port_allows_no_other() -> None:
    """E2."""
    rules = Policy(group="t", allow=["good.test:8443", "both.test", "both.test:8443"])

    assert _reason(rules, "https://good.test/") is Reason.PORT
    assert _reason(rules, "https://both.test/") is None
    assert _reason(rules, "https://both.test:8443/") is None
    assert _reason(rules, "https://both.test:8444/") is Reason.PORT


def test_says_what_an_operator_can_add() -> None:
    with pytest.raises(Refused, match=r"«\[2606:4700::1\]:8443»"):
        policy.judge_url(PLAIN, "https://[2606:4700::1]:8443/")


@pytest.mark.parametrize(
    "lists",
    [{"allow": ["*"]}, {"deny": ["a b"]}, {"allow": ["203.0.113.0/24"]}],
)
def test_an_entry_that_cannot_be_read_stops_the_start(lists: dict[str, Any]) -> None:
    """E2."""
    with pytest.raises(ValueError, match="«"):
        Policy(group="t", **lists)


def test_tells_the_origin_without_a_verdict() -> None:
    assert policy.origin_of("http://Localhost:80/a") == "http://localhost"


# --- Addresses ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (["8.8.8.8"], None),
        (["8.8.8.8", "2606:4700::1"], None),
        (["2606:4700::1"], None),
        (["10.0.0.5", "8.8.8.8"], Reason.NOT_PUBLIC),
        (["8.8.8.8", "10.0.0.5"], Reason.NOT_PUBLIC),
        (["8.8.8.8", "127.0.0.1"], Reason.NOT_PUBLIC),
        (["8.8.8.8", "::1"], Reason.NOT_PUBLIC),
        (["192.168.0.2"], Reason.NOT_PUBLIC),  # where a CNAME led
        (["::ffff:10.0.0.5"], Reason.NOT_PUBLIC),
    ],
)
def test_every_address_must_be_public(
    found: list[str], expected: Reason | None
) -> None:
    """E2, B123."""
    assert _reason_of_addresses(PLAIN, *found) is expected


def test_more_than_16_addresses_are_refused() -> None:
    """E2, B123."""
    many = [f"8.8.{n // 250}.{n % 250 + 1}" for n in range(300)]

    assert _reason_of_addresses(PLAIN, *many) is Reason.TOO_MANY_ADDRESSES
    assert _reason_of_addresses(PLAIN, *many[:17]) is Reason.TOO_MANY_ADDRESSES
    assert _reason_of_addresses(PLAIN, *many[:16]) is None
    assert _reason_of_addresses(PLAIN, *many[:16], *many[:16]) is None


def test_an_address_on_the_deny_list_stops_every_name() -> None:
    """E2."""
    rules = Policy(group="t", deny=["9.9.9.0/24", "8.8.8.8:25"])

    assert _reason_of_addresses(rules, "8.8.4.4", "9.9.9.9") is Reason.DENIED
    assert _reason_of_addresses(rules, "8.8.8.8", port=25) is Reason.DENIED
    assert _reason_of_addresses(rules, "8.8.8.8") is None


def test_no_list_admits_a_private_address() -> None:
    """E4."""
    rules = Policy(group="t", allow=["agent.test", "10.0.0.5"])

    assert _reason_of_addresses(rules, "10.0.0.5") is Reason.NOT_PUBLIC
    assert _reason_of_addresses(rules, "10.0.0.5", host="10.0.0.5") is Reason.NOT_PUBLIC


def test_a_classifier_can_be_replaced() -> None:
    """E4."""
    rules = Policy(group="t", is_public=lambda address: str(address) == "10.0.0.5")

    assert _reason_of_addresses(rules, "10.0.0.5") is None
    assert _reason_of_addresses(rules, "8.8.8.8") is Reason.NOT_PUBLIC


@pytest.mark.parametrize("found", [["10.0.0.5"], ["8.8.8.8", "fd00::5"]])
def test_no_sentence_names_an_address_that_dns_gave(found: list[str]) -> None:
    with pytest.raises(Refused) as refusal:
        policy.judge_addresses(
            PLAIN, [*map(ip_address, found)], host="agent.test", port=443
        )

    assert "«agent.test»" in refusal.value.sentence
    assert not any(text in refusal.value.sentence for text in found)


# --- Trials on loopback ---------------------------------------------------------------

TRIAL = Policy(
    group="t", allow_loopback=True, own_hosts=frozenset({"127.0.0.1", "localhost"})
)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.2:8000/", None),
        ("https://127.0.0.2:8000/", None),
        ("http://127.0.0.2/", None),
        ("http://[::1]:8000/", None),
        ("http://127.0.0.1:8000/", Reason.OWN_HOST),
        ("http://localhost:8000/", Reason.SCHEME),
        ("https://localhost:8000/", Reason.NOT_PUBLIC),
        ("http://[::ffff:127.0.0.2]:8000/", Reason.SCHEME),
        ("http://agent.test/", Reason.SCHEME),
        ("https://agent.test:8443/", Reason.PORT),
    ],
)
def test_a_trial_admits_loopback_addresses_that_the_url_names(
    url: str, expected: Reason | None
) -> None:
    """E4."""
    assert _reason(TRIAL, url) is expected


def test_a_trial_admits_no_name_that_leads_to_loopback() -> None:
    """E4."""
    assert _reason_of_addresses(TRIAL, "127.0.0.2") is Reason.NOT_PUBLIC
    assert _reason_of_addresses(TRIAL, "127.0.0.2", host="127.0.0.2") is None
    assert _reason_of_addresses(TRIAL, "10.0.0.5", host="10.0.0.5") is Reason.NOT_PUBLIC


def test_lists_narrow_a_trial_too() -> None:
    """E4."""
    allowing = dataclasses.replace(TRIAL, allow=["127.0.0.2:8000"])
    denying = dataclasses.replace(TRIAL, deny=["127.0.0.2"])

    assert _reason(allowing, "http://127.0.0.2:8000/") is None
    assert _reason(allowing, "http://127.0.0.2:8001/") is Reason.PORT
    assert _reason(allowing, "http://127.0.0.3:8000/") is Reason.NOT_ALLOWED
    assert _reason(denying, "http://127.0.0.2:8000/") is Reason.DENIED
