"""What has changed on a card, in sentences for an administrator (C2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from a2a_client import card_security, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from a2a_protocol.types import AgentCard

_LONGEST_SHOWN: Final = 200
_NOTHING: Final = "nothing"


def differences(old: AgentCard, new: AgentCard) -> list[str]:
    """Empty where nothing changed that anybody decides by; a sentence for each change."""
    return [
        *_texts(old, new),
        *_interfaces(old, new),
        *_skills(old, new),
        *_values("capability", _capabilities(old), _capabilities(new)),
        *_lists("extension", _extensions(old), _extensions(new)),
        *_security(old, new),
    ]


def _texts(old: AgentCard, new: AgentCard) -> Iterator[str]:
    for name, before, after in (
        ("name", old.name, new.name),
        ("description", old.description, new.description),
        ("version", old.version, new.version),
        ("provider", _provider(old), _provider(new)),
    ):
        if before != after:
            yield f"The {name} changes from {_quoted(before)} to {_quoted(after)}."


def _provider(card: AgentCard) -> str:
    if card.provider is None:
        return ""
    return f"{card.provider.organization} ({card.provider.url})"


def _interfaces(old: AgentCard, new: AgentCard) -> Iterator[str]:
    before, after = _offered(old), _offered(new)
    yield from _lists("interface", before, after)
    if before != after and sorted(before) == sorted(after):
        yield "The interfaces stand in another order."


def _offered(card: AgentCard) -> list[str]:
    return [
        f"{one.protocol_binding} {one.protocol_version} at {one.url}"
        + (f", tenant {one.tenant}" if one.tenant else "")
        for one in card.supported_interfaces
    ]


def _extensions(card: AgentCard) -> list[str]:
    return [
        f"{one.uri}, required" if one.required else one.uri
        for one in card.capabilities.extensions
    ]


def _skills(old: AgentCard, new: AgentCard) -> Iterator[str]:
    before = {skill.id: skill for skill in old.skills}
    after = {skill.id: skill for skill in new.skills}
    yield from _lists("skill", before, after)
    for id_, skill in after.items():
        if id_ in before and before[id_] != skill:
            yield f"The skill {_quoted(id_)} says something else of itself."


def _capabilities(card: AgentCard) -> dict[str, bool | None]:
    capabilities = card.capabilities
    return {
        "streaming": capabilities.streaming,
        "push notifications": capabilities.push_notifications,
        "extended agent card": capabilities.extended_agent_card,
    }


def _security(old: AgentCard, new: AgentCard) -> Iterator[str]:
    before, after = (
        " or ".join(card_security.required_security(card)) or card_security.NOTHING
        for card in (old, new)
    )
    if before != after:
        yield f"It asked for {before} and now asks for {after}."
    elif old.security_schemes != new.security_schemes:
        yield "It describes its credentials in another way."


def _lists(what: str, before: Iterable[str], after: Iterable[str]) -> Iterator[str]:
    old, new = list(before), list(after)
    yield from (f"New {what}: {_quoted(one)}." for one in new if one not in old)
    yield from (f"Gone {what}: {_quoted(one)}." for one in old if one not in new)


def _values(
    what: str, before: dict[str, bool | None], after: dict[str, bool | None]
) -> Iterator[str]:
    for name, value in after.items():
        if bool(before[name]) != bool(value):
            yield f"New {what}: {name}." if value else f"Gone {what}: {name}."


def _quoted(text: str) -> str:
    shown = words.one_line(text, _LONGEST_SHOWN)
    return f"«{shown}»" if shown else _NOTHING
