"""What a card says, for pages: texts of others, in one line each and not too long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a_client import describing, importing, words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from a2a_client.importing import Preview
    from a2a_client.models import RemoteAgent
    from a2a_protocol.types import AgentCard

    Facts = list[tuple[str, str]]

_LONGEST = 300
_MOST_SKILLS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillShown:
    id: str
    name: str
    description: str


def of_stored(agent: RemoteAgent) -> Facts:
    """Of the card that was imported; empty before that."""
    card = importing.stored_card(agent)
    if card is None or not agent.interface_url:
        return []
    return _shown(
        *_of_card(card),
        ("Interface", _interface(agent.interface_binding, agent.interface_version)),
        ("At", agent.interface_url),
        ("Tenant", agent.interface_tenant),
    )


def of_seen(seen: Preview) -> Facts:
    found = seen.interface
    return _shown(
        *_of_card(seen.card),
        ("Interface that would be used", _interface(found.binding, found.version)),
        ("At", found.url),
        ("Tenant", found.tenant),
        ("Offers", ", ".join(describing.capabilities(seen))),
        ("Asks for", "; ".join(seen.security) or "no credential"),
    )


def skills(card: AgentCard) -> list[SkillShown]:
    return [
        SkillShown(
            id=_line(skill.id),
            name=_line(skill.name),
            description=_line(skill.description),
        )
        for skill in card.skills[:_MOST_SKILLS]
    ]


def lines(texts: Iterable[str]) -> list[str]:
    return [_line(text) for text in texts]


def _of_card(card: AgentCard) -> Facts:
    provider = card.provider
    return [
        ("Name", card.name),
        ("Version", card.version),
        ("Description", card.description),
        ("Provider", f"{provider.organization} {provider.url}" if provider else ""),
    ]


def _interface(binding: str, version: str) -> str:
    return f"A2A {version} over {binding}"


def _shown(*facts: tuple[str, str]) -> Facts:
    return [(label, text) for label, value in facts if (text := _line(value))]


def _line(text: str) -> str:
    return words.one_line(text, _LONGEST)
