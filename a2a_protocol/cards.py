"""What the agent card of this product always says, and the bytes a card is known by.

The canonical form is RFC 8785 over the card without its signatures (specification
8.4). Which defaults are in it is decided by ``proto_json.write``: required members
always, presence members when they are set, nothing else.
"""

from __future__ import annotations

import hashlib
from typing import Final

from a2a_protocol import proto_json
from a2a_protocol.canonical import canonical_json
from a2a_protocol.types import (
    AgentCard,
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)

PROFILE_EXTENSION_URI: Final = "https://nr-llm.netresearch.de/a2a/ext/profile/v1"

# The name by which the requirement refers to the scheme.
_BEARER: Final = "bearer"


def bearer_schemes() -> dict[str, SecurityScheme]:
    scheme = HTTPAuthSecurityScheme(scheme="Bearer")
    return {_BEARER: SecurityScheme(http_auth_security_scheme=scheme)}


def bearer_requirements() -> tuple[SecurityRequirement, ...]:
    """No scopes: a token is good for what its client may do."""
    return (SecurityRequirement(schemes={_BEARER: StringList()}),)


def canonical_card(card: AgentCard) -> str:
    """The text that a signature covers."""
    unsigned = card.model_copy(update={"signatures": ()})
    return canonical_json(proto_json.write(unsigned, canonical=True))


def content_hash(text: str) -> str:
    """SHA-256 in hex, fit to stand between the quotes of a strong ETag."""
    return hashlib.sha256(text.encode()).hexdigest()
