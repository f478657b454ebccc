"""A card that was looked at, and what is left to do for its agent, in words.

What a card says comes from outside: it is shown without hidden characters, so that it
cannot move a terminal's cursor or pass for lines of ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a_client import card_security, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from a2a_client.importing import Preview
    from a2a_client.models import RemoteAgent
    from a2a_protocol.types import AgentSkill

_LONGEST_NAME = 100
_LONGEST_LINE = 300
_MOST_SKILLS = 50


def card_lines(seen: Preview) -> Iterator[str]:
    """Lines of «label: text»."""
    facts = {
        "Name": line(seen.card.name),
        "Version": line(seen.card.version),
        "Description": line(seen.card.description),
        "Provider": _provider(seen),
        "Interface": f"{seen.interface.binding} {seen.interface.version} at "
        f"{line(seen.interface.url)}",
        "Tenant": line(seen.interface.tenant),
        "Capabilities": ", ".join(capabilities(seen)),
        "Asks for": "; or ".join(seen.security) or card_security.NOTHING,
    }
    yield from (f"{label + ':':<14}{text}" for label, text in facts.items() if text)
    yield from _skill_lines(seen.card.skills)
    yield from (f"Changed:      {line(text)}" for text in seen.differences)
    yield from (f"Mind:         {line(text)}" for text in seen.warnings)
    yield from (f"Passed over:  {line(text)}" for text in seen.notes)
    if not seen.is_new and not seen.differences:
        yield "It is as it was imported before."


def card_document(seen: Preview) -> dict[str, Any]:
    """The same for machines."""
    return {
        "name": seen.card.name,
        "version": seen.card.version,
        "description": seen.card.description,
        "provider": _provider(seen),
        "interface": {
            "url": seen.interface.url,
            "binding": seen.interface.binding,
            "version": seen.interface.version,
            "tenant": seen.interface.tenant,
        },
        "origin": seen.origin,
        "mustBeConfirmed": seen.must_be_confirmed,
        "capabilities": capabilities(seen),
        "security": list(seen.security),
        "skills": [{"id": s.id, "name": s.name} for s in seen.card.skills],
        "differences": list(seen.differences),
        "warnings": list(seen.warnings),
        "passedOver": list(seen.notes),
    }


def capabilities(seen: Preview) -> list[str]:
    """What the card offers beyond sending and asking, by the protocol's names."""
    offered = seen.card.capabilities
    found = {
        "streaming": offered.streaming,
        "pushNotifications": offered.push_notifications,
        "extendedAgentCard": offered.extended_agent_card,
    }
    return [name for name, is_offered in found.items() if is_offered]


def left_to_do(agent: RemoteAgent, *, security: Sequence[str] = ()) -> list[str]:
    """Sentences on what keeps an imported agent from being used.

    `security` is what its card asks for.
    """
    found = []
    if agent.interface_url and not agent.is_confirmed:
        found.append(
            f"Confirm that its interface may be at {agent.interface_origin}: "
            f"manage.py a2a_agent_import {agent.identifier} "
            f"--confirm-origin {agent.interface_origin}"
        )
    if agent.needs_secret and not agent.has_secret:
        found.append(f"Enter its secret: manage.py a2a_agent_secret {agent.identifier}")
    if wants_credential(agent, security):
        found.append("Choose its credential in the admin, and enter the secret.")
    if not agent.is_enabled:
        found.append("Enable it in the admin, and choose who may use it.")
    return found


def wants_credential(agent: RemoteAgent, security: Sequence[str]) -> bool:
    """Whether its card asks for a credential, and no kind of it is chosen yet."""
    is_asked = bool(security) and card_security.NOTHING not in security
    return is_asked and not agent.needs_secret


def _provider(seen: Preview) -> str:
    provider = seen.card.provider
    if provider is None:
        return ""
    return line(f"{provider.organization} {provider.url}")


def _skill_lines(skills: Sequence[AgentSkill]) -> Iterator[str]:
    for skill in skills[:_MOST_SKILLS]:
        name, about = line(skill.id), line(f"{skill.name}: {skill.description}")
        yield f"Skill:        {name} ({about})"
    if (more := len(skills) - _MOST_SKILLS) > 0:
        yield f"Skill:        {more} more"


def line(text: str) -> str:
    """Words of a card in one line of what can be seen."""
    return words.one_line(text, _LONGEST_LINE)
