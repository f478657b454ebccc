"""The agent card: specification 4.4."""

from __future__ import annotations

from a2a_protocol.types.security import SecurityRequirement, SecurityScheme
from a2a_protocol.types.wire import Struct, WireModel


class AgentProvider(WireModel):
    url: str
    organization: str


class AgentExtension(WireModel):
    uri: str = ""
    description: str = ""
    required: bool = False
    params: Struct | None = None


class AgentCapabilities(WireModel):
    streaming: bool | None = None
    push_notifications: bool | None = None
    extensions: tuple[AgentExtension, ...] = ()
    extended_agent_card: bool | None = None


class AgentInterface(WireModel):
    url: str
    protocol_binding: str
    tenant: str = ""
    protocol_version: str


class AgentSkill(WireModel):
    id: str
    name: str
    description: str
    tags: tuple[str, ...]
    examples: tuple[str, ...] = ()
    input_modes: tuple[str, ...] = ()
    output_modes: tuple[str, ...] = ()
    security_requirements: tuple[SecurityRequirement, ...] = ()


class AgentCardSignature(WireModel):
    """A JWS in parts; ``protected`` and ``signature`` are base64url texts."""

    protected: str
    signature: str
    header: Struct | None = None


class AgentCard(WireModel):
    name: str
    description: str
    supported_interfaces: tuple[AgentInterface, ...]
    provider: AgentProvider | None = None
    version: str
    documentation_url: str | None = None
    capabilities: AgentCapabilities
    security_schemes: dict[str, SecurityScheme] = {}
    security_requirements: tuple[SecurityRequirement, ...] = ()
    default_input_modes: tuple[str, ...]
    default_output_modes: tuple[str, ...]
    skills: tuple[AgentSkill, ...]
    signatures: tuple[AgentCardSignature, ...] = ()
    icon_url: str | None = None
