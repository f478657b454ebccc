"""Agent cards as remote agents write them, made and read for tests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from a2a_client import interfaces

if TYPE_CHECKING:
    from a2a_protocol.types import AgentCard

URL = "https://agent.test/team/a/.well-known/agent-card.json"
RPC = "https://agent.test/team/a/rpc"


def interface(
    url: str = RPC, binding: str = "JSONRPC", version: str = "1.0", **members: Any
) -> dict[str, Any]:
    told = {"url": url, "protocolBinding": binding, "protocolVersion": version}
    return told | members


def skill(id_: str, **members: Any) -> dict[str, Any]:
    return {"id": id_, "name": id_.title(), "description": "", "tags": []} | members


def document(*offered: dict[str, Any], **members: Any) -> bytes:
    """A card as it is fetched; without interfaces, unless some are given."""
    told = {
        "name": "Translator",
        "description": "It translates.",
        "supportedInterfaces": list(offered),
        "version": "3.1",
        "capabilities": {"streaming": True},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [skill("translate")],
    }
    return json.dumps(told | members).encode()


def card(*offered: dict[str, Any], **members: Any) -> AgentCard:
    """With one interface that is spoken, if no other is given."""
    return interfaces.read_card(document(*offered or (interface(),), **members))[0]
