"""Which extensions a remote agent's card asks for, and which are used with it. Pure.

Specification 4.6: a client names what it uses in a header; an agent may require one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from a2a_protocol.cards import PROFILE_EXTENSION_URI

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_runs.contents import JSONValue

# Its skill and the ids of questions are written into messages; see `messages`.
KNOWN: Final = frozenset({PROFILE_EXTENSION_URI})


class ExtensionNeeded(Exception):  # noqa: N818 -- an answer, not a failure
    """The agent requires an extension that is not known here."""

    def __init__(self, uri: str) -> None:
        super().__init__(uri)
        self.uri = uri


def to_activate(card: str) -> tuple[str, ...]:
    """The URIs to name to the agent of this card, a stored JSON text.

    Raises `ExtensionNeeded` with the first one that it requires and we do not know.
    """
    declared = list(_declared(card))
    for uri, is_required in declared:
        if is_required and uri not in KNOWN:
            raise ExtensionNeeded(uri)
    return tuple(dict.fromkeys(uri for uri, _ in declared if uri in KNOWN))


def _declared(card: str) -> Iterator[tuple[str, bool]]:
    for extension in _list(_member(_read(card), "capabilities"), "extensions"):
        uri = _member(extension, "uri")
        if isinstance(uri, str) and uri:
            yield uri, _member(extension, "required") is True


def _read(card: str) -> JSONValue:
    try:
        document: JSONValue = json.loads(card)
    except ValueError:
        return None
    return document


def _member(value: JSONValue, name: str) -> JSONValue:
    return value.get(name) if isinstance(value, dict) else None


def _list(value: JSONValue, name: str) -> list[JSONValue]:
    found = _member(value, name)
    return found if isinstance(found, list) else []
