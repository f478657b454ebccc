"""Agent cards and agents that have not imported theirs, made for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests import factories

if TYPE_CHECKING:
    from a2a_client.models import RemoteAgent

SKILL = {"id": "news", "name": "News", "description": "Finds news.", "tags": ["news"]}


def interface(url: str, **members: Any) -> dict[str, Any]:
    named = {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    return named | members


def card(url: str, **members: Any) -> dict[str, Any]:
    """A card with one interface at `url` and one skill, «news»."""
    return {
        "name": "Desk",
        "description": "Knows the news.",
        "version": "1.4",
        "supportedInterfaces": [interface(url)],
        "capabilities": {"streaming": True},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [SKILL],
    } | members


def agent_without_card(card_url: str, **values: Any) -> RemoteAgent:
    forgotten = {
        "card": "",
        "interface_url": "",
        "interface_binding": "",
        "interface_version": "",
        "confirmed_origin": "",
        "is_enabled": False,
    }
    return factories.make_remote_agent(
        card_url=card_url,
        **{"identifier": "desk", "name": "Desk", **forgotten} | values,
    )
