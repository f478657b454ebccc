"""Which addresses are public (E3).

Python's `is_global` is not enough: it changes with the patch version, calls multicast
global, and looks into few of the forms of IPv6 that carry an address of IPv4. So the
registries of IANA for special purposes (RFC 6890) are written down here. For IPv6 only
2000::/3 is assigned to the public at all.
"""

from __future__ import annotations

from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
)

Address = IPv4Address | IPv6Address

RESERVED_V4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this host on this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by carriers
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local, and where clouds keep their metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # multicast tunnels
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
PUBLIC_V6 = IPv6Network("2000::/3")
RESERVED_V6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments
        "2001:db8::/32",  # documentation
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)
COMPATIBLE = IPv6Network("::/96")
MAPPED = IPv6Network("::ffff:0:0/96")
NAT64 = IPv6Network("64:ff9b::/96")
TEREDO = IPv6Network("2001::/32")
SIX_TO_FOUR = IPv6Network("2002::/16")

_LOOPBACK_V4 = IPv4Network("127.0.0.0/8")
_LOOPBACK_V6 = IPv6Address("::1")
_LOW_32 = 0xFFFF_FFFF


def is_public(address: Address) -> bool:
    """Whether it may be dialled; a form that carries others is judged by those."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in RESERVED_V4)
    inner = carried(address)
    if inner:
        return all(map(is_public, inner))
    return address in PUBLIC_V6 and not any(
        address in network for network in RESERVED_V6
    )


def carried(address: Address) -> tuple[IPv4Address, ...]:
    """The addresses of IPv4 within one of IPv6: none, one, or two for Teredo.

    Teredo holds its server's address, and its client's with every bit turned (RFC 4380).
    """
    if isinstance(address, IPv4Address):
        return ()
    number = int(address)
    if any(address in network for network in (COMPATIBLE, MAPPED, NAT64)):
        return (IPv4Address(number & _LOW_32),)
    if address in SIX_TO_FOUR:
        return (IPv4Address(number >> 80 & _LOW_32),)
    if address in TEREDO:
        server, client = number >> 64 & _LOW_32, number & _LOW_32 ^ _LOW_32
        return IPv4Address(server), IPv4Address(client)
    return ()


def is_loopback(address: Address) -> bool:
    """Only as it stands: no form that carries a loopback address counts."""
    if isinstance(address, IPv4Address):
        return address in _LOOPBACK_V4
    return address == _LOOPBACK_V6


def literal(host: str) -> Address | None:
    """The address that a host is, without brackets; None for a name."""
    try:
        return ip_address(host)
    except ValueError:
        return None
