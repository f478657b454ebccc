from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

import pytest

from a2a_server import addressing
from tests.asgi_peer import make_scope

if TYPE_CHECKING:
    from pytest_django.fixtures import SettingsWrapper

CARD = "/.well-known/agent-card.json"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/a2a", "endpoint"),
        ("/a2a/", "endpoint"),
        (f"/a2a{CARD}", "card"),
        (CARD, "card"),
        ("/", None),
        ("/a2a//", None),
        ("/a2a/x", None),
        ("/a2ab", None),
        ("/A2A", None),
        (f"/a2a{CARD}/", None),
        (f"{CARD}/", None),
        ("/.well-known/agent.json", None),
        ("/admin/", None),
    ],
)
def test_finds_endpoint_and_card_by_path(path: str, kind: str | None) -> None:
    """S3, S4, B082."""
    target = addressing.find_target(make_scope(path))

    assert (target.kind if target else None) == kind


@pytest.mark.parametrize(
    ("scheme", "host", "is_ours"),
    [
        ("https", "gateway.example", True),
        ("https", "GATEWAY.example:443", True),
        ("http", "gateway.example", False),
        ("http", "gateway.example:443", False),
        ("ws", "gateway.example", False),
        ("https", "gateway.example:8443", False),
        ("https", "gateway.example.", False),
        ("https", "other.example", False),
        ("https", "gateway.example.evil.test", False),
        ("https", "", False),
        ("https", ":443", False),
        ("https", "gateway.example:", False),
        ("https", "gateway.example:x", False),
        ("https", "gateway.example:٤٤٣", False),  # digits, but not ASCII ones
        ("https", "gateway.example:" + "4" * 5000, False),
        ("https", "a@gateway.example", False),
        ("https", "gateway.example/x", False),
        ("https", "[::1", False),
    ],
)
def test_compares_scheme_host_and_port(scheme: str, host: str, is_ours: bool) -> None:
    """S4: a malformed host is simply not one of ours."""
    target = addressing.find_target(make_scope(scheme=scheme, host=host))

    assert bool(target) is is_ours


def test_two_host_headers_are_not_ours() -> None:
    scope = make_scope(headers=[("host", "gateway.example")])

    assert addressing.find_target(scope) is None


def test_serves_no_card_at_the_root_of_an_origin_with_two_base_urls(
    settings: SettingsWrapper,
) -> None:
    """S3: which one would it be?"""
    settings.A2A_SERVER_BASE_URLS = [
        "https://gateway.example/one",
        "https://gateway.example/two",
        "https://other.example/three",
    ]

    assert addressing.find_target(make_scope(CARD)) is None
    assert addressing.find_target(make_scope(f"/two{CARD}"))
    other = addressing.find_target(make_scope(CARD, host="other.example"))
    assert other
    assert other.base_url.text == "https://other.example/three"


def test_serves_a_base_url_without_a_path(settings: SettingsWrapper) -> None:
    settings.A2A_SERVER_BASE_URLS = ["https://gateway.example"]

    endpoint = addressing.find_target(make_scope("/"))
    card = addressing.find_target(make_scope(CARD))

    assert endpoint
    assert endpoint.kind == "endpoint"
    assert card
    assert card.kind == "card"


def test_believes_a_proxys_scheme_and_host_where_django_does(
    settings: SettingsWrapper,
) -> None:
    """S4: the usual Django proxy settings."""
    forwarded = [
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "gateway.example"),
    ]
    scope = make_scope(scheme="http", host="10.0.0.1:8000", headers=forwarded)

    before = addressing.find_target(scope)
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.USE_X_FORWARDED_HOST = True
    after = addressing.find_target(scope)

    assert before is None
    assert after
    assert after.base_url.text == "https://gateway.example/a2a"


def test_a_proxys_http_is_not_https(settings: SettingsWrapper) -> None:
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    scope = make_scope(scheme="https", headers=[("x-forwarded-proto", "http, https")])

    assert addressing.find_target(scope) is None


@pytest.mark.parametrize(
    ("count", "peer", "forwarded", "expected"),
    [
        (0, "192.0.2.7", "198.51.100.1", "192.0.2.7"),  # nobody to be believed
        (1, "10.0.0.1", "198.51.100.1", "198.51.100.1"),
        (1, "10.0.0.1", "203.0.113.9, 198.51.100.1", "198.51.100.1"),  # first is forged
        (2, "10.0.0.1", "203.0.113.9,198.51.100.1,10.0.0.2", "198.51.100.1"),
        (2, "10.0.0.1", "198.51.100.1", "10.0.0.1"),  # fewer hops than proxies
        (1, "10.0.0.1", "garbage", "10.0.0.1"),
        (1, "10.0.0.1", "", "10.0.0.1"),
        (1, "10.0.0.1", "2001:db8::5", "2001:db8::5"),
        (1, "10.0.0.1", "::ffff:198.51.100.1", "198.51.100.1"),
        (0, "::ffff:192.0.2.7", "", "192.0.2.7"),
        (0, "fe80::1%eth0", "", "fe80::1"),
    ],
)
def test_takes_the_address_that_trusted_proxies_vouch_for(
    settings: SettingsWrapper, count: int, peer: str, forwarded: str, expected: str
) -> None:
    """S24."""
    settings.A2A_TRUSTED_PROXY_COUNT = count
    scope = make_scope(headers=[("x-forwarded-for", forwarded)], client=(peer, 1))

    assert addressing.client_address(scope) == ip_address(expected)


def test_joins_several_forwarded_headers(settings: SettingsWrapper) -> None:
    """A peer's own header line comes before the one that the proxy adds."""
    settings.A2A_TRUSTED_PROXY_COUNT = 1
    lines = [("x-forwarded-for", "203.0.113.9"), ("x-forwarded-for", "198.51.100.1")]

    found = addressing.client_address(make_scope(headers=lines))

    assert found == ip_address("198.51.100.1")


def test_has_no_address_behind_a_unix_socket() -> None:
    assert addressing.client_address(make_scope(client=None)) is None
    assert addressing.counting_key(None) == "unknown"


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
    ],
)
def test_counts_an_ipv6_subscriber_once(address: str, key: str) -> None:
    """S23: a /64 is what one subscriber can choose from."""
    assert addressing.counting_key(ip_address(address)) == key
