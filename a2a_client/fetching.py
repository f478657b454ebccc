"""Gets the card of a remote agent, through the guard and without a credential (C2, E6).

Redirects are followed, up to three, each judged as a URL of its own. Every failure is
a `CardError` whose sentence says what to do about it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from a2a_client import guard, words
from agent_runs import outbound
from egress import redirects
from egress.errors import EgressError, Reason
from egress.limits import Limits

if TYPE_CHECKING:
    from egress.client import Answer

WELL_KNOWN: Final = "/.well-known/agent-card.json"
MOST_BYTES: Final = 1024 * 1024

_LIMITS: Final = Limits(body_bytes=MOST_BYTES)
_LONGEST_URL: Final = 200
# A longer one is not kept, nor what no header of ours can carry.
_ETAG: Final = re.compile(r"[ -~]{0,200}")
_NOT_MODIFIED: Final = 304
_SECRET: Final = frozenset({401, 403, 407})
_GONE: Final = frozenset({404, 410})


class CardError(Exception):
    """There is no card to use; the sentence is for administrators."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """`url` is where the body came from after redirects; `body` is None for «as before»."""

    body: bytes | None
    etag: str
    url: str


async def fetch(url: str, *, etag: str = "") -> Fetched:
    """Ask for the card; with an ETag it may be «as before». Raises `CardError`."""
    headers = {"accept": "application/json"}
    if etag:
        headers["if-none-match"] = etag
    try:
        async with outbound.open_client(guard.GROUP, limits=_LIMITS) as client:
            landed = await redirects.get(client, url, headers=headers)
    except EgressError as error:
        raise CardError(_sentence_of(error)) from error
    return _taken(landed.answer, landed.url, is_known=bool(etag))


def _sentence_of(error: EgressError) -> str:
    if error.reason == Reason.BODY_TOO_LARGE:
        return f"The answer is larger than {MOST_BYTES // 1024} KiB, so it is no card."
    return guard.sentence_of(error)


def _taken(answer: Answer, url: str, *, is_known: bool) -> Fetched:
    etag = answer.headers.get("etag", "").strip()
    etag = etag if _ETAG.fullmatch(etag) else ""
    if answer.status == _NOT_MODIFIED and is_known:
        return Fetched(body=None, etag=etag, url=url)
    if answer.status != 200:
        raise CardError(_refusal(answer.status, url))
    _require_no_page(answer, url)
    return Fetched(body=answer.body, etag=etag, url=url)


def _refusal(status: int, url: str) -> str:
    shown = _shown(url)
    if status in _GONE:
        host = words.one_line(urlsplit(url).netloc, _LONGEST_URL)
        return (
            f"There is no card at «{shown}» (HTTP {status}). It is usually at "
            f"«https://{host}{WELL_KNOWN}»."
        )
    if status in _SECRET:
        return (
            f"«{shown}» wants a credential (HTTP {status}). A card must be readable "
            "without one; none is sent."
        )
    if status >= 500 or status == 429:
        return f"«{shown}» cannot answer now (HTTP {status}). Try again later."
    return (
        f"«{shown}» answers with HTTP {status} instead of a card. Check the card URL."
    )


def _require_no_page(answer: Answer, url: str) -> None:
    media_type = (
        answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    )
    if media_type in {"text/html", "application/xhtml+xml"} or (
        answer.body.lstrip()[:1] == b"<"
    ):
        raise CardError(
            f"«{_shown(url)}» is a web page, not a card. The card is usually at the "
            f"host's {WELL_KNOWN}."
        )


def _shown(url: str) -> str:
    return words.one_line(url, _LONGEST_URL)
