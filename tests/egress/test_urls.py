"""What a URL must look like; the lists of odd ones are B120, B122 and B128."""

from __future__ import annotations

import pytest

from egress import urls
from egress.errors import Reason, Refused


def _reason(url: str) -> Reason:
    with pytest.raises(Refused) as refusal:
        urls.parse(url)
    assert not refusal.value.has_left
    return refusal.value.reason


@pytest.mark.parametrize(
    ("url", "origin", "path"),
    [
        ("https://agent.example", "https://agent.example", "/"),
        ("HTTPS://Agent.Example./", "https://agent.example", "/"),
        ("https://agent.example:443/a", "https://agent.example", "/a"),
        ("http://agent.example:80/a", "http://agent.example", "/a"),
        ("http://agent.example:443/", "http://agent.example:443", "/"),
        ("https://agent.example:8443?q", "https://agent.example:8443", "/?q"),
        ("https://agent.example/%2e%2E/ü".replace("ü", "%C3%BC"), "", "/%2e%2E/%C3%BC"),
        ("https://agent.example/a//b/../c;d=[]'(\"", "", "/a//b/../c;d=[]'(\""),
        ("https://agent.example/?a=https://b@c:1/#d", "", "/?a=https://b@c:1/"),
        ("https://agent.example#fragment", "", "/"),
        ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example", "/"),
        ("https://1.example.1a/", "https://1.example.1a", "/"),
        ("https://8.8.8.8./", "https://8.8.8.8", "/"),
        ("https://[2001:DB8:0::1]:8443/", "https://[2001:db8::1]:8443", "/"),
        ("https://[::ffff:8.8.8.8]/", "https://[::ffff:8.8.8.8]", "/"),
    ],
)
def test_takes_a_url_apart(url: str, origin: str, path: str) -> None:
    """E2."""
    target = urls.parse(url)

    assert target.origin == (origin or "https://agent.example")
    assert target.path == path
    assert target.url == f"{target.origin}{path}"


def test_names_an_address_of_ipv6_without_brackets() -> None:
    assert urls.parse("https://[::1]:8443/").host == "::1"
    assert urls.parse("https://[::1]:8443/").host_and_port == "[::1]:8443"


@pytest.mark.parametrize(
    "url",
    [
        r"http://good.test\@127.0.0.1/",
        r"http://good.test\@evil.test/",
        r"https:\\good.test/",
        "ht\ntp://good.test/",
        "https://good.test/\tx",
        "https://good.test/ x",
        " https://good.test/",
        "https://good.test/\x7f",
        "https://good.test/\x00",
        "",
        "http:good.test",
        "https:/good.test",
        "http:///good.test",
        "https://",
        "https://?x",
        "http://good.test:80:90/",
        "http://[::1/",
        "https://::1/",
        "https://[::1]x/",
        "https://good[.test/",
        "https://good.test/ä",
        "https://" + "a" * 8192,
    ],
)
def test_refuses_what_parsers_disagree_about(url: str) -> None:
    """E2, B122."""
    assert _reason(url) is Reason.BAD_URL


@pytest.mark.parametrize(
    "url",
    [
        "http://good.test@127.0.0.1/",
        "http://127.0.0.1:80@good.test/",
        "http://u:p@good.test/",
        "http://a@b@good.test/",
        "https://@good.test/",
    ],
)
def test_refuses_a_user_name_or_password(url: str) -> None:
    """E2, B122."""
    assert _reason(url) is Reason.USERINFO


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "/etc/passwd",
        "htp://x",
        "data:application/json,{}",
        "ftp://good.test/",
        "ws://good.test/",
        "good.test/card.json",
        "//good.test/",
        "gopher://good.test:6379/",
    ],
)
def test_refuses_every_other_scheme(url: str) -> None:
    """E2, B128."""
    assert _reason(url) is Reason.SCHEME


@pytest.mark.parametrize(
    "host",
    [
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "017700000001",
        "0x7f.1",
        "2852039166",
        "169.254.43518",
        "0",
        "134744072",
        "1.2.3",
        "1.2.3.4.5",
        "256.1.1.1",
        "1.2.3.0x4",
        "127.0.0.01",
        "example.1",
        "0X7F.1",
        "0x",
    ],
)
def test_refuses_numbers_that_only_a_resolver_understands(host: str) -> None:
    """E2, B120."""
    assert _reason(f"http://{host}/") is Reason.NUMERIC_HOST
    assert _reason(f"http://{host}./") is Reason.NUMERIC_HOST


@pytest.mark.parametrize(
    "host",
    [
        "bücher.example",
        "good。test",  # an ideographic full stop
        "１２７.0.0.1",  # digits of full width
        "good..test",
        ".good.test",
        "good.test..",
        ".",
        "-good.test",
        "good-.test",
        "go_od.test",
        "good%2etest",
        "go*d.test",
        "a" * 64 + ".test",
        ".".join(["a" * 60] * 5),
        "[fe80::1%25eth0]",
        "[fe80::1%eth0]",
        "[127.0.0.1]",
        "[]",
        "[v1.x]",
    ],
)
def test_refuses_what_is_no_host_name(host: str) -> None:
    """E2."""
    assert _reason(f"https://{host}/") is Reason.BAD_HOST


@pytest.mark.parametrize("port", ["0", "65536", "080", "", "-1", "+80", "8o", "999999"])
def test_refuses_what_is_no_port(port: str) -> None:
    """E2, B128."""
    assert _reason(f"https://good.test:{port}/") is Reason.BAD_PORT


def test_the_first_fault_in_the_order_of_the_guard_is_told() -> None:
    """E2."""
    assert _reason("ftp://u@0x7f.1:0/") is Reason.SCHEME
    assert _reason("http://u@0x7f.1:0/") is Reason.USERINFO
    assert _reason("http://0x7f.1:0/") is Reason.NUMERIC_HOST
