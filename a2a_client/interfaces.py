"""Which interface of a card is used (C2, B117).

`SPOKEN` is what this client speaks, the version it likes best first. Within one version
the card's order decides (specification 8.3.2). A URL is used as it is written; a
relative one is resolved against the card's. Whether it may be dialled is the guard's
business and an administrator's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

from a2a_client import words
from a2a_protocol import json_text, proto_json
from a2a_protocol.types import AgentCard

if TYPE_CHECKING:
    from collections.abc import Iterator

    from a2a_protocol.types import AgentInterface

# Versions in the order of preference, each with the bindings that are spoken in it.
SPOKEN: Final = (("1.0", frozenset({"JSONRPC"})),)

_MOST_OFFERED: Final = 10
_LONGEST_SHOWN: Final = 100
# A patch number does not count (specification 3.6), and some leave the minor one out.
_VERSION: Final = re.compile(r"([0-9]{1,4})(?:\.([0-9]{1,4})(?:\.[0-9]{1,9})?)?")
_NOT_IN_URLS: Final = re.compile(r"[^\x21-\x7e]|[\\]")


class NoInterface(Exception):  # noqa: N818 -- an answer, not a failure
    """The card offers nothing that can be used; the text says what it offers."""


class _BadURLError(Exception):
    """The text says, of the URL, what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """`version` is Major.Minor, as the header A2A-Version has it."""

    url: str
    binding: str
    version: str
    tenant: str = ""


def read_card(body: bytes) -> tuple[AgentCard, tuple[str, ...]]:
    """The card, and notes on what was passed over. Raises ProtocolError."""
    return proto_json.read_lenient(AgentCard, json_text.load_json(body))


def choose(card: AgentCard, card_url: str) -> Interface:
    """Raises `NoInterface`, whose text is for people."""
    problems = []
    for version, offered in _speakable(card):
        try:
            url = _resolved(offered.url, card_url)
        except _BadURLError as error:
            problems.append(f"{_named(offered)} {error}")
            continue
        binding = offered.protocol_binding.strip().upper()
        return Interface(
            url=url, binding=binding, version=version, tenant=offered.tenant
        )
    raise NoInterface(_refusal(card, problems))


def _speakable(card: AgentCard) -> Iterator[tuple[str, AgentInterface]]:
    for version, bindings in SPOKEN:
        for offered in card.supported_interfaces:
            binding = offered.protocol_binding.strip().upper()
            if binding in bindings and _version(offered) == version:
                yield version, offered


def _version(offered: AgentInterface) -> str:
    """As Major.Minor; "" where it is none."""
    match = _VERSION.fullmatch(offered.protocol_version.strip())
    return f"{int(match[1])}.{int(match[2] or 0)}" if match else ""


def _resolved(url: str, card_url: str) -> str:
    """Raises `_BadURLError`."""
    if not url:
        raise _BadURLError("has no URL")
    if _NOT_IN_URLS.search(url):
        raise _BadURLError("has a character in its URL that may not stand there")
    try:
        # A URL that is whole is not touched, since joining may write it anew.
        whole = url if urlsplit(url).scheme else urljoin(card_url, url)
        parts = urlsplit(whole)
    except ValueError:
        raise _BadURLError("has a URL that cannot be read") from None
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise _BadURLError("has a URL that is not one of http or https")
    if "@" in parts.netloc:
        raise _BadURLError("has a user name in its URL")
    if "#" in whole:
        raise _BadURLError("has a fragment in its URL")
    return whole


def _refusal(card: AgentCard, problems: list[str]) -> str:
    spoken = ", ".join(
        f"{binding} {version}"
        for version, bindings in SPOKEN
        for binding in sorted(bindings)
    )
    if problems:
        return (
            "The card's interface cannot be used: "
            f"{'; '.join(problems[:_MOST_OFFERED])}. "
            "Ask whoever runs the agent."
        )
    offered = [_named(one) for one in card.supported_interfaces]
    if not offered:
        return f"The card offers no interface of protocol 1.0. This client speaks {spoken}."
    listed = ", ".join(offered[:_MOST_OFFERED])
    more = len(offered) - _MOST_OFFERED
    rest = f" and {more} more" if more > 0 else ""
    return f"The card offers {listed}{rest}. This client speaks {spoken}."


def _named(offered: AgentInterface) -> str:
    binding = words.one_line(offered.protocol_binding, _LONGEST_SHOWN)
    version = words.one_line(offered.protocol_version, _LONGEST_SHOWN)
    return f"{binding or 'a binding without a name'} {version or 'without a version'}"
