"""Asks DNS for the addresses of a name.

DNS only: /etc/hosts and search lists know names of this host's own network. Both record
types are asked at once, and nothing is kept: whoever opens a socket asks once.
"""

from __future__ import annotations

import asyncio
import itertools
from functools import cached_property
from ipaddress import ip_address
from typing import TYPE_CHECKING, Protocol

import dns.asyncresolver
import dns.exception
import dns.name
import dns.nameserver
import dns.rdatatype
import dns.resolver

from egress import entries
from egress.errors import Reason, Unreachable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from egress.addresses import Address

_RECORD_TYPES = (dns.rdatatype.A, dns.rdatatype.AAAA)
_DNS_PORT = 53


class Resolver(Protocol):
    async def resolve(self, host: str, *, seconds: float) -> Sequence[Address]:
        """The addresses of a name, at least one, within so many seconds.

        Raises `Unreachable` with NO_ADDRESS or DNS_FAILED.
        """
        ...


class DNSResolver:
    """`nameservers` are addresses, with a port where it is not 53; else the system's.

    Raises `ValueError` for one that cannot be read.
    """

    def __init__(self, nameservers: Sequence[str] = ()) -> None:
        self._nameservers = tuple(map(_nameserver, nameservers))

    async def resolve(self, host: str, *, seconds: float) -> Sequence[Address]:
        results = await asyncio.gather(
            *(self._ask(host, record_type, seconds) for record_type in _RECORD_TYPES)
        )
        answers = [result for result in results if isinstance(result, tuple)]
        together = tuple(itertools.chain.from_iterable(answers))
        if together:
            return together
        raise _unreachable(
            host, [result for result in results if not isinstance(result, tuple)]
        )

    async def _ask(
        self, host: str, record_type: dns.rdatatype.RdataType, seconds: float
    ) -> tuple[Address, ...] | dns.exception.DNSException:
        """A failure is a result: the other question may have an answer."""
        try:
            answer = await self._resolver.resolve(
                dns.name.from_text(f"{host}."),
                record_type,
                raise_on_no_answer=False,
                lifetime=seconds,
                search=False,
            )
        except dns.exception.DNSException as failure:
            return failure
        return tuple(ip_address(record.address) for record in answer.rrset or ())

    @cached_property
    def _resolver(self) -> dns.asyncresolver.Resolver:
        resolver = dns.asyncresolver.Resolver(configure=not self._nameservers)
        if self._nameservers:
            resolver.nameservers = list(self._nameservers)
        return resolver


def _nameserver(text: str) -> dns.nameserver.Nameserver:
    entry = entries.parse(text)
    if entry.network is None or not entry.host:
        raise ValueError(f"«{text}» is no address of a name server.")
    return dns.nameserver.Do53Nameserver(entry.host, entry.port or _DNS_PORT)


def _unreachable(
    host: str, failures: Sequence[dns.exception.DNSException]
) -> Unreachable:
    # Only the name server itself can say that there is no such name.
    if all(isinstance(failure, dns.resolver.NXDOMAIN) for failure in failures):
        return Unreachable(
            Reason.NO_ADDRESS,
            f"DNS knows no address of «{host}». Check how the name is written.",
        )
    return Unreachable(
        Reason.DNS_FAILED,
        f"DNS did not answer for «{host}». Try again later, or ask an operator whether "
        "this host reaches its name servers.",
    )
