"""The guard as this installation's settings have it (E1).

Whatever leaves for an address that an outsider chose is opened here, by the name of its
group. What cannot be read in the settings refuses everything it would have decided;
system checks say what it is.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings

from egress import blocking, client, tls, urls
from egress.errors import Reason, Refused
from egress.policy import Policy
from egress.resolver import DNSResolver

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Iterable, Mapping

    from egress.client import Answer, Client
    from egress.limits import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ListNames:
    """The settings that hold a group's lists."""

    allow: str
    deny: str


GROUPS = {
    "a2a_remote_agent": ListNames(
        allow="A2A_EGRESS_REMOTE_AGENT_ALLOW", deny="A2A_EGRESS_REMOTE_AGENT_DENY"
    ),
    "a2a_inbound_url": ListNames(
        allow="A2A_EGRESS_INBOUND_URL_ALLOW", deny="A2A_EGRESS_INBOUND_URL_DENY"
    ),
    "fetch_url": ListNames(
        allow="A2A_EGRESS_FETCH_URL_ALLOW", deny="A2A_EGRESS_FETCH_URL_DENY"
    ),
}


def policy_for(group: str) -> Policy:
    """Raises `Refused` for an unknown group, and for lists that cannot be read."""
    names = GROUPS.get(group)
    if names is None:
        raise Refused(
            Reason.UNKNOWN_GROUP,
            f"There are no rules for outbound requests of «{group}», so none may leave.",
        )
    try:
        return Policy(
            group=group,
            allow=tuple(getattr(settings, names.allow)),
            deny=tuple(getattr(settings, names.deny)),
            own_hosts=own_hosts(settings.A2A_EGRESS_OWN_HOSTS),
            allow_http=settings.A2A_EGRESS_ALLOW_HTTP,
            # Never outside of a trial, even where nobody ran the checks (E4).
            allow_loopback=settings.DEBUG and settings.A2A_EGRESS_ALLOW_LOOPBACK,
        )
    except ValueError as error:
        raise _misconfigured(f"{names.allow} or {names.deny}") from error


def own_hosts(hosts: Iterable[str]) -> frozenset[str]:
    """As the guard writes hosts; what is none names nothing."""
    found = set()
    for host in hosts:
        try:
            found.add(urls.parse_host(host))
        except Refused:
            continue
    return frozenset(found)


@asynccontextmanager
async def open_client(
    group: str, *, limits: Limits | None = None
) -> AsyncIterator[Client]:
    """A client for requests of this group; raises `Refused` as `policy_for` does."""
    async with client.open_client(
        policy_for(group),
        limits=limits,
        resolver=_resolver(),
        ssl_context=_ssl_context(),
    ) as opened:
        yield opened


def request(
    group: str,
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    content: bytes = b"",
    limits: Limits | None = None,
) -> Answer:
    """One request of a thread without an event loop; raises `EgressError`."""
    return blocking.request(
        policy_for(group),
        method,
        url,
        headers=headers,
        content=content,
        limits=limits,
        resolver=_resolver(),
        ssl_context=_ssl_context(),
    )


def _resolver() -> DNSResolver:
    try:
        return DNSResolver(settings.A2A_EGRESS_NAMESERVERS)
    except ValueError as error:
        raise _misconfigured("A2A_EGRESS_NAMESERVERS") from error


def _ssl_context() -> ssl.SSLContext:
    try:
        return tls.context(settings.A2A_EGRESS_CA_FILE)
    except OSError as error:
        raise _misconfigured("A2A_EGRESS_CA_FILE") from error


def _misconfigured(setting: str) -> Refused:
    return Refused(
        Reason.MISCONFIGURED,
        f"The setting {setting} cannot be read, so nothing may leave. An operator finds "
        "out more with «manage.py check».",
    )
