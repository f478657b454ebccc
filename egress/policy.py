"""The verdict (E2, E4): may this URL be asked for, and may these addresses be dialled.

Lists only narrow: no entry admits an address that is not public.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from egress import addresses, entries, urls
from egress.errors import Reason, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from egress.urls import Target

MAX_ADDRESSES = 16

# Names that lead to this host or its own network by their definition (RFC 6761, 6762 and
# 8375, and ICANN's reservation of «internal», where clouds keep their metadata). DNS
# should not know them; where a resolver does, its answer says nothing about the public.
_PRIVATE_NAMES = (
    "localhost",
    "localdomain",
    "local",
    "internal",
    "home.arpa",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What one group of requests may reach.

    `allow` and `deny` are entries as `entries` explains them. `own_hosts` are hosts of
    this installation. `allow_loopback` is for trials on one machine: plain http, any port
    and a loopback address, where the URL itself names the address. `is_public` is
    replaced only in tests.

    Raises `ValueError` for an entry that cannot be read.
    """

    group: str
    allow: Sequence[str] = ()
    deny: Sequence[str] = ()
    own_hosts: frozenset[str] = frozenset()
    allow_http: bool = False
    allow_loopback: bool = False
    is_public: Callable[[addresses.Address], bool] = addresses.is_public
    allowed: tuple[entries.Entry, ...] = field(init=False, repr=False)
    denied: tuple[entries.Entry, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        allowed = tuple(map(entries.parse, self.allow))
        for text, entry in zip(self.allow, allowed, strict=True):
            if not entry.host:
                raise ValueError(
                    f"«{text}» is a network; only a deny list may name one."
                )
        object.__setattr__(self, "allowed", allowed)
        object.__setattr__(self, "denied", tuple(map(entries.parse, self.deny)))


def origin_of(url: str) -> str:
    """Scheme, host and port as `Target.origin` has them; no verdict.

    Raises `Refused` for a URL that cannot be read.
    """
    return urls.parse(url).origin


def judge_url(policy: Policy, url: str) -> Target:
    """The URL's pieces, where its scheme, host and port may be asked for.

    Raises `Refused` with the first reason in the order of E2.
    """
    may_be_plain = policy.allow_http or policy.allow_loopback
    schemes = ("https", "http") if may_be_plain else ("https",)
    target = urls.parse(url, schemes=schemes)
    _judge_scheme(policy, target)
    _judge_host(policy, target)
    _judge_lists(policy, target)
    _judge_port(policy, target)
    return target


def judge_addresses(
    policy: Policy, found: Sequence[addresses.Address], *, host: str, port: int
) -> None:
    """Raises `Refused` unless every one of the addresses may be dialled."""
    if len(set(found)) > MAX_ADDRESSES:
        raise Refused(
            Reason.TOO_MANY_ADDRESSES,
            f"«{host}» has more than {MAX_ADDRESSES} addresses. Ask its operator for a "
            "host name with fewer.",
        )
    is_home = _is_loopback_trial(policy, host)
    for address in found:
        if not is_home and not policy.is_public(address):
            raise _not_public(host)
        if any(entry.holds(address) and entry.meets(port) for entry in policy.denied):
            raise _denied(policy, host)


def _judge_scheme(policy: Policy, target: Target) -> None:
    if target.scheme == "https" or policy.allow_http:
        return
    if not _is_loopback_trial(policy, target.host):
        raise Refused(
            Reason.SCHEME, f"«{target.host}» must be asked over https, not plain http."
        )


def _judge_host(policy: Policy, target: Target) -> None:
    host = target.host
    if any(f".{host}".endswith(f".{name}") for name in _PRIVATE_NAMES):
        raise _not_public(host)
    if host in policy.own_hosts:
        raise Refused(
            Reason.OWN_HOST,
            f"«{host}» is a host of this installation. It does not call itself.",
        )


def _judge_lists(policy: Policy, target: Target) -> None:
    host, port = target.host, target.port
    address = addresses.literal(host)
    for entry in policy.denied:
        is_meant = entry.names(host) or (address and entry.holds(address))
        if is_meant and entry.meets(port):
            raise _denied(policy, host)
    if policy.allowed and not any(entry.names(host) for entry in policy.allowed):
        raise Refused(
            Reason.NOT_ALLOWED,
            f"«{host}» is not on the list of hosts that may be called for "
            f"«{policy.group}». An operator can add it there.",
        )


def _judge_port(policy: Policy, target: Target) -> None:
    default = urls.DEFAULT_PORTS[target.scheme]
    ports = {
        entry.port or default for entry in policy.allowed if entry.names(target.host)
    }
    is_free = not policy.allowed and _is_loopback_trial(policy, target.host)
    if is_free or target.port in (ports or {default}):
        return
    raise Refused(
        Reason.PORT,
        f"Port {target.port} of «{target.host}» may not be called for "
        f"«{policy.group}». An operator can add «{target.host_and_port}» to the "
        "list of hosts that may be.",
    )


def _is_loopback_trial(policy: Policy, host: str) -> bool:
    address = addresses.literal(host)
    return (
        policy.allow_loopback and address is not None and addresses.is_loopback(address)
    )


def _not_public(host: str) -> Refused:
    return Refused(
        Reason.NOT_PUBLIC,
        f"«{host}» does not lead to the public internet, and nothing else may be "
        "called. Check the host's name and its DNS records.",
    )


def _denied(policy: Policy, host: str) -> Refused:
    return Refused(
        Reason.DENIED,
        f"«{host}» is on the list of hosts that may not be called for "
        f"«{policy.group}». An operator keeps that list.",
    )
