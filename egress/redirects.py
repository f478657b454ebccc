"""Follows redirects of a GET, for callers that want it (E6).

Each target is judged as a new URL. Credentials stay with the origin that they were meant
for, and nobody is led from https to plain http.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from egress import policy, urls
from egress.errors import BadAnswer, Reason, Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from egress.client import Answer, Client

MOST_REDIRECTS = 3

_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """The first answer that is no redirect, and the URL that it was given for."""

    url: str
    answer: Answer


async def get(
    client: Client,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    credentials: Mapping[str, str] | None = None,
    most: int = MOST_REDIRECTS,
) -> Landed:
    """Ask for a URL, and for where it leads.

    `credentials` are headers for the origin of `url` alone. A redirect that names no
    target is an answer like any other. Raises `EgressError`.
    """
    sent = {**(headers or {}), **(credentials or {})}
    for _ in range(most + 1):
        answer = await client.request("GET", url, headers=sent)
        location = answer.headers.get("location", "")
        if answer.status not in _REDIRECTS or not location:
            return Landed(url=url, answer=answer)
        target = target_of(url, location)
        if policy.origin_of(target) != policy.origin_of(url):
            sent = dict(headers or {})
        url = target
    raise BadAnswer(
        Reason.TOO_MANY_REDIRECTS,
        f"«{urls.parse(url).host}» leads on after {most} redirects. Give the URL where "
        "they end.",
    )


def target_of(url: str, location: str) -> str:
    """Where a Location header leads from a URL; raises `Refused` for what is no URL."""
    urls.require_visible(location)
    try:
        target = urljoin(url, location)
    except ValueError:
        raise Refused(
            Reason.BAD_URL,
            f"«{urls.parse(url).host}» leads to something that is no URL.",
        ) from None
    if url.lower().startswith("https:") and target.lower().startswith("http:"):
        raise Refused(
            Reason.DOWNGRADE,
            f"«{urls.parse(url).host}» leads from https to plain http. Its operator has "
            "to stay with https.",
        )
    return target
