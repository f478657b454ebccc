"""Imports the card of a remote agent: look, then store exactly what was seen (C2).

`preview` fetches and tells what would be stored; `store` writes it, unless the agent's
record has changed meanwhile. Which interface is used follows from the card alone. Where
it may be is an administrator's word: an interface at the card's own origin is confirmed
by the first import, any other origin by `confirm_origin`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from asgiref.sync import async_to_sync

from a2a_client import (
    card_differences,
    card_security,
    fetching,
    guard,
    interfaces,
)
from a2a_client.fetching import CardError
from a2a_client.models import RemoteAgent
from a2a_protocol import canonical, json_text
from a2a_protocol.cards import content_hash
from a2a_protocol.errors import ProtocolError
from agent_runs import clock
from egress import policy
from egress.errors import Refused

if TYPE_CHECKING:
    from a2a_client.fetching import Fetched
    from a2a_client.interfaces import Interface
    from a2a_protocol.types import AgentCard

# What `store` finds as it was when the card was looked at.
_SEEN_WITH = ("card_url", "card_hash", "interface_url", "confirmed_origin")

CHANGED_MEANWHILE = (
    "Somebody changed the agent or imported its card meanwhile. Look at the card again."
)


class Stale(Exception):  # noqa: N818 -- an answer, not a failure
    """The record is not as it was when it was looked at; nothing was stored."""

    def __init__(self) -> None:
        super().__init__(CHANGED_MEANWHILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a card says, and what storing it would do; nothing is stored yet.

    `digest` names what is stored: the card's content, where it was and the interface. It
    does not depend on the order or the spelling of the JSON.
    `warnings` are sentences on what storing it will not make right.
    """

    card: AgentCard
    text: str
    etag: str
    card_hash: str
    digest: str
    interface: Interface
    origin: str
    must_be_confirmed: bool
    is_new: bool
    differences: tuple[str, ...]
    security: tuple[str, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def is_as_stored(self) -> bool:
        return not self.is_new and not self.differences


# --- Looking --------------------------------------------------------------------------


def preview(agent: RemoteAgent) -> Preview:
    """Fetch the card and tell what it says. Raises `CardError`; blocks up to 30 s."""
    fetched = fetch_card(agent)
    body = agent.card.encode() if fetched.body is None else fetched.body
    text, card_hash = _text_of(body)
    card, notes = _card_of(body)
    interface, origin = _interface_of(card, fetched.url)
    stored = stored_card(agent)
    return Preview(
        card=card,
        text=text,
        etag=fetched.etag or (agent.card_etag if fetched.body is None else ""),
        card_hash=card_hash,
        digest=_digest(agent, card_hash, interface),
        interface=interface,
        origin=origin,
        must_be_confirmed=origin != _confirmed_after(agent, origin),
        is_new=stored is None,
        differences=_differences(agent, stored, card, interface),
        security=tuple(card_security.required_security(card)),
        warnings=tuple(_warnings(agent, card, interface)),
        notes=tuple(notes),
    )


def fetch_card(agent: RemoteAgent) -> Fetched:
    """Raises `CardError`."""
    if stored_card(agent) is None:
        return async_to_sync(fetching.fetch)(agent.card_url)
    return async_to_sync(fetching.fetch)(agent.card_url, etag=agent.card_etag)


def stored_card(agent: RemoteAgent) -> AgentCard | None:
    """The card as it was imported; None before that, or where it cannot be read."""
    if not agent.card:
        return None
    try:
        return _card_of(agent.card.encode())[0]
    except CardError:
        return None


def _text_of(body: bytes) -> tuple[str, str]:
    """The text to store, and its hash, which the order of members does not change."""
    try:
        value = json_text.load_json(body)
        return body.decode(), content_hash(canonical.canonical_json(value))
    except ProtocolError as error:
        raise CardError(
            "What is at the card URL is no JSON that can be read. "
            f"{error.message} Ask whoever runs the agent."
        ) from error


def _card_of(body: bytes) -> tuple[AgentCard, tuple[str, ...]]:
    try:
        return interfaces.read_card(body)
    except ProtocolError as error:
        raise CardError(
            "What is at the card URL is no agent card. Check the address."
        ) from error


def _interface_of(card: AgentCard, url: str) -> tuple[Interface, str]:
    try:
        interface = interfaces.choose(card, url)
        _require_columns_hold(interface)
        return interface, policy.origin_of(interface.url)
    except interfaces.NoInterface as error:
        raise CardError(str(error)) from error
    except Refused as error:
        raise CardError(
            f"The card's interface cannot be used. {error.sentence}"
        ) from error


def _require_columns_hold(interface: Interface) -> None:
    for name, value in _columns_of(interface).items():
        longest = getattr(RemoteAgent._meta.get_field(name), "max_length", None)
        if longest and len(value) > longest:
            raise CardError(
                f"The {name.replace('_', ' ')} on the card is longer than {longest} "
                "characters. Ask whoever runs the agent."
            )


def _digest(agent: RemoteAgent, card_hash: str, interface: Interface) -> str:
    seen = (agent.card_url, card_hash, *_columns_of(interface).values())
    return content_hash("\n".join(seen))


def _confirmed_after(agent: RemoteAgent, origin: str) -> str:
    """The origin that is confirmed once a card with this one is stored."""
    is_first = not agent.interface_url
    if is_first and origin == policy.origin_of(agent.card_url):
        return origin
    return agent.confirmed_origin


def _differences(
    agent: RemoteAgent, stored: AgentCard | None, card: AgentCard, interface: Interface
) -> tuple[str, ...]:
    if stored is None:
        return ()
    found = list(card_differences.differences(stored, card))
    columns = _columns_of(interface)
    if any(getattr(agent, name) != value for name, value in columns.items()):
        tenant = f", tenant «{interface.tenant}»" if interface.tenant else ""
        found.append(f"The interface in use becomes {interface.url}{tenant}.")
    return tuple(found)


def _warnings(agent: RemoteAgent, card: AgentCard, interface: Interface) -> list[str]:
    found = []
    if problem := guard.url_problem(interface.url):
        found.append(f"Its interface cannot be called. {problem}")
    offered = {skill.id for skill in card.skills}
    if gone := [skill for skill in agent.allowed_skills if skill not in offered]:
        found.append(f"Allowed skills that the card does not have: {', '.join(gone)}.")
    return found


# --- Storing --------------------------------------------------------------------------


def store(agent: RemoteAgent, seen: Preview) -> None:
    """Store what was seen; `agent` is afterwards as the row is. Raises `Stale`."""
    columns: dict[str, Any] = {
        "card": seen.text,
        "card_hash": seen.card_hash,
        "card_etag": seen.etag,
        "card_at": clock.database_now(),
        "confirmed_origin": _confirmed_after(agent, seen.origin),
        **_columns_of(seen.interface),
    }
    _change(agent, columns)


def confirm_origin(agent: RemoteAgent, origin: str) -> None:
    """Let the interface be at this origin, which the administrator has read.

    Raises `Stale` where the interface is elsewhere by now.
    """
    if not agent.interface_url or policy.origin_of(agent.interface_url) != origin:
        raise Stale
    _change(agent, {"confirmed_origin": origin})


def forget_confirmation(agent: RemoteAgent) -> None:
    """Nothing is sent to it until its origin is confirmed again. Raises `Stale`."""
    _change(agent, {"confirmed_origin": ""})


def _columns_of(interface: Interface) -> dict[str, str]:
    return {
        "interface_url": interface.url,
        "interface_binding": interface.binding,
        "interface_version": interface.version,
        "interface_tenant": interface.tenant,
    }


def _change(agent: RemoteAgent, columns: dict[str, Any]) -> None:
    as_seen = {name: getattr(agent, name) for name in _SEEN_WITH}
    if not RemoteAgent.objects.filter(pk=agent.pk, **as_seen).update(**columns):
        raise Stale
    for name, value in columns.items():
        setattr(agent, name, value)
