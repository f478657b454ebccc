from __future__ import annotations

from ipaddress import ip_address

import pytest

from egress import entries


@pytest.mark.parametrize(
    ("text", "host", "expected"),
    [
        ("agent.example", "agent.example", True),
        ("Agent.Example.", "agent.example", True),
        ("agent.example", "a.agent.example", False),
        ("agent.example", "notagent.example", False),
        ("*.agent.example", "a.agent.example", True),
        ("*.agent.example", "a.b.agent.example", True),
        ("*.agent.example", "agent.example", False),
        ("*.agent.example", "notagent.example", False),
        ("203.0.113.7", "203.0.113.7", True),
        ("[2001:DB8::7]", "2001:db8::7", True),
        ("2001:db8::7", "2001:db8::7", True),
        ("203.0.113.0/24", "203.0.113.7", False),  # a network has no host
    ],
)
def test_names_hosts(text: str, host: str, expected: bool) -> None:
    """E2."""
    assert entries.parse(text).names(host) is expected


@pytest.mark.parametrize(
    ("text", "address", "expected"),
    [
        ("203.0.113.0/24", "203.0.113.255", True),
        ("203.0.113.0/24", "203.0.114.0", False),
        ("203.0.113.0/24", "::ffff:203.0.113.7", True),
        ("203.0.113.7", "203.0.113.7", True),
        ("203.0.113.7", "2002:cb00:7107::1", True),
        ("2001:db8::/32", "2001:db8::7", True),
        ("2001:db8::/32", "203.0.113.7", False),
        ("agent.example", "203.0.113.7", False),
    ],
)
def test_holds_addresses_and_the_forms_that_carry_them(
    text: str, address: str, expected: bool
) -> None:
    """E2."""
    assert entries.parse(text).holds(ip_address(address)) is expected


@pytest.mark.parametrize(
    ("text", "port", "expected"),
    [
        ("agent.example", 8443, True),
        ("agent.example:8443", 8443, True),
        ("agent.example:8443", 443, False),
        ("*.agent.example:8443", 8443, True),
        ("[2001:db8::7]:8443", 8443, True),
        ("[2001:db8::7]:8443", 443, False),
    ],
)
def test_meets_ports(text: str, port: int, expected: bool) -> None:
    """E2."""
    assert entries.parse(text).meets(port) is expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "*",
        "*.",
        "*.203.0.113.7",
        "a.*.example",
        "agent.example:",
        "agent.example:0",
        "agent.example:65536",
        "agent.example:http",
        "https://agent.example",
        "agent.example/path",
        "203.0.113.7/24",  # host bits are set
        "203.0.113.0/33",
        "bücher.example",
        "127.1",
        "[::1",
        "::1%eth0",
        "a:b:c",
    ],
)
def test_refuses_what_is_no_entry(text: str) -> None:
    """E2."""
    with pytest.raises(ValueError, match="is no host"):
        entries.parse(text)
