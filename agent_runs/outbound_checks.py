"""System checks of the settings for outbound requests; each problem has a hint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core import checks

from agent_runs.outbound import GROUPS
from egress import tls
from egress.policy import Policy
from egress.resolver import DNSResolver

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from django.apps import AppConfig

_LIST_HINT = (
    "An entry is a host, *.host, host:port or an address; a deny list may also name a "
    "network such as 203.0.113.0/24. See docs/egress.md."
)


def check_lists(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[checks.CheckMessage]:
    return [
        checks.Error(f"{name}: {problem}", hint=_LIST_HINT, id="agent_runs.E012")
        for names in GROUPS.values()
        for name in (names.allow, names.deny)
        for problem in _problems_of_list(name, is_allow=name == names.allow)
    ]


def _problems_of_list(name: str, *, is_allow: bool) -> Iterator[str]:
    for entry in getattr(settings, name):
        try:
            Policy(
                group=name,
                allow=(entry,) if is_allow else (),
                deny=() if is_allow else (entry,),
            )
        except ValueError as error:
            yield str(error)


def check_loopback(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[checks.CheckMessage]:
    """E4."""
    if settings.DEBUG or not settings.A2A_EGRESS_ALLOW_LOOPBACK:
        return []
    return [
        checks.Error(
            "A2A_EGRESS_ALLOW_LOOPBACK is on, and DEBUG is off.",
            hint="It lets outsiders reach what listens on this host only. Switch it "
            "off; it is for trials with DEBUG=1.",
            id="agent_runs.E013",
        )
    ]


def check_authorities(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[checks.CheckMessage]:
    try:
        tls.context(settings.A2A_EGRESS_CA_FILE)
    except OSError:
        return [
            checks.Error(
                "A2A_EGRESS_CA_FILE cannot be read as certificates in PEM form.",
                hint="Name a file that this process may read, with one or more blocks "
                "that begin with -----BEGIN CERTIFICATE-----.",
                id="agent_runs.E014",
            )
        ]
    return []


def check_nameservers(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[checks.CheckMessage]:
    try:
        DNSResolver(settings.A2A_EGRESS_NAMESERVERS)
    except ValueError as error:
        return [
            checks.Error(
                f"A2A_EGRESS_NAMESERVERS: {error}",
                hint="Give addresses, such as 9.9.9.9 or 127.0.0.1:5353, or nothing for "
                "the system's name servers.",
                id="agent_runs.E015",
            )
        ]
    return []


ALL = (check_lists, check_loopback, check_authorities, check_nameservers)
