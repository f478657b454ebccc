"""Entries of allow and deny lists (E2).

    agent.example         this host
    *.agent.example       every host below it, not itself
    agent.example:8443    this host on this port
    203.0.113.7           this address; an address of IPv6 with a port needs brackets
    203.0.113.0/24        every address of this network (deny lists only)

Without a port an entry of an allow list stands for the scheme's own port, and one of a
deny list for every port.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network

from egress import addresses, urls
from egress.errors import Refused

Network = IPv4Network | IPv6Network

_HOST_AND_PORT = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]+)(:(?P<port>[0-9]+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """`is_below` stands for the hosts below `host`; a `network` entry has no host."""

    host: str = ""
    port: int | None = None
    is_below: bool = False
    network: Network | None = None

    def names(self, host: str) -> bool:
        """Whether the host, as it was given, is meant; the port is not looked at."""
        if self.is_below:
            return host.endswith(f".{self.host}")
        return host == self.host

    def holds(self, address: addresses.Address) -> bool:
        """Whether an address is meant, or one that it carries."""
        forms = (address, *addresses.carried(address))
        return self.network is not None and any(form in self.network for form in forms)

    def meets(self, port: int) -> bool:
        return self.port is None or self.port == port


def parse(text: str) -> Entry:
    """Raises `ValueError` with a sentence that names the entry."""
    try:
        if "/" in text:
            return Entry(network=ip_network(text))
        if ":" in text and addresses.literal(text):
            return _of_host(f"[{text}]", None)
        parts = _HOST_AND_PORT.fullmatch(text)
        if parts:
            return _of_host(parts["host"], parts["port"])
    except (Refused, ValueError):
        pass
    raise ValueError(
        f"«{text}» is no host, *.host, host:port, address or network of addresses."
    )


def _of_host(text: str, port: str | None) -> Entry:
    host = urls.parse_host(text.removeprefix("*."))
    address = addresses.literal(host)
    is_below = text.startswith("*.")
    if is_below and address:
        raise ValueError("nothing is below an address")
    return Entry(
        host=host,
        port=urls.parse_port(port) if port else None,
        is_below=is_below,
        network=ip_network(address) if address else None,
    )
