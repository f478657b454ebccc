"""The truth table of E3; each range with its first, middle and last address."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest

from egress import addresses

# Written down again, from the registries of IANA: the code is compared with them.
RESERVED = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "255.255.255.255/32",
    "::/128",
    "::1/128",
    "64:ff9b:1::/48",  # NAT64 of a network's own
    "100::/64",  # discard
    "100:0:0:1::/64",  # dummy prefix
    "2001::/32",  # Teredo: server 0.0.0.0 to 255.255.255.255
    "2001:1::/32",  # anycast of protocols
    "2001:2::/48",  # benchmarking
    "2001:10::/28",  # ORCHID
    "2001:20::/28",  # ORCHIDv2
    "2001:30::/28",  # drones
    "2001:100::/24",
    "2001:db8::/32",
    "2620:4f:8000::/48",
    "3fff::/20",
    "4000::/3",  # not assigned
    "5f00::/16",  # segment routing
    "8000::/3",
    "e000::/4",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
]
PUBLIC = [
    "1.0.0.0",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "191.255.255.255",
    "192.0.1.0",
    "192.0.3.0",
    "192.88.98.255",
    "192.88.100.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "198.51.99.255",
    "198.51.101.0",
    "203.0.112.255",
    "203.0.114.0",
    "223.255.255.255",
    "2000::",
    "2001:200::",
    "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
    "2001:db9::",
    "2606:4700:4700::1111",
    "2a00:1450::1",
    "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "3fff:1000::",
]
# B118, and a few that Python calls global.
REPORTED = [
    "0.0.0.0",  # noqa: S104 -- judged, not bound
    "0.1.2.3",
    "127.0.0.2",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "169.254.169.254",
    "172.16.0.1",
    "192.0.0.8",
    "192.168.1.1",
    "198.18.0.1",
    "203.0.113.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "fc00::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "2001:db8::1",
    "5f00::1",
    "192.0.0.9",
    "192.0.0.10",
    "fe80::1%eth0",
]
# How each form writes 8.8.8.8 and 10.0.0.1; Teredo's second is the client's address.
FORMS = {
    "mapped": ("::ffff:8.8.8.8", "::ffff:10.0.0.1"),
    "compatible": ("::8.8.8.8", "::10.0.0.1"),
    "NAT64": ("64:ff9b::8.8.8.8", "64:ff9b::10.0.0.1"),
    "6to4": ("2002:808:808::1", "2002:a00:1::1"),
    "Teredo's server": ("2001:0:808:808::f7f7:f7f7", "2001:0:a00:1::f7f7:f7f7"),
    "Teredo's client": ("2001:0:808:808::f7f7:f7f7", "2001:0:808:808::f5ff:fffe"),
}


def _of_range(text: str) -> list[str]:
    network = ip_network(text)
    middle = network[network.num_addresses // 2]
    return [str(network[0]), str(middle), str(network[-1])]


@pytest.mark.parametrize(
    "text", [address for text in RESERVED for address in _of_range(text)]
)
def test_no_address_of_a_reserved_range_is_public(text: str) -> None:
    """E3."""
    assert not addresses.is_public(ip_address(text))


@pytest.mark.parametrize("text", REPORTED)
def test_no_reported_hole_is_open(text: str) -> None:
    """E3, B118."""
    assert not addresses.is_public(ip_address(text))


@pytest.mark.parametrize("text", PUBLIC)
def test_neighbours_of_reserved_ranges_are_public(text: str) -> None:
    """E3, B118."""
    assert addresses.is_public(ip_address(text))


@pytest.mark.parametrize(("public", "private"), FORMS.values(), ids=FORMS)
def test_a_form_that_carries_an_address_is_judged_by_it(
    public: str, private: str
) -> None:
    """E3."""
    assert addresses.is_public(ip_address(public))
    assert not addresses.is_public(ip_address(private))


@pytest.mark.parametrize("form", ["::ffff:{}", "::{}", "64:ff9b::{}"])
@pytest.mark.parametrize(
    "network", [network for network in RESERVED if ":" not in network]
)
def test_no_form_hides_a_reserved_range(form: str, network: str) -> None:
    """E3."""
    for text in _of_range(network):
        assert not addresses.is_public(ip_address(form.format(text)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8.8.8.8", []),
        ("2606:4700::1", []),
        ("::ffff:1.2.3.4", ["1.2.3.4"]),
        ("2002:102:304:5::6", ["1.2.3.4"]),
        ("2001:0:102:304::fefd:fcfb", ["1.2.3.4", "1.2.3.4"]),
    ],
)
def test_finds_the_addresses_within(text: str, expected: list[str]) -> None:
    assert [str(inner) for inner in addresses.carried(ip_address(text))] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1", True),
        ("127.255.255.255", True),
        ("128.0.0.0", False),
        ("::1", True),
        ("::2", False),
        ("::ffff:127.0.0.1", False),
    ],
)
def test_knows_loopback_as_it_stands(text: str, expected: bool) -> None:
    """E4."""
    assert addresses.is_loopback(ip_address(text)) is expected


def test_tells_addresses_from_names() -> None:
    assert addresses.literal("::1") == ip_address("::1")
    assert addresses.literal("agent.example") is None
