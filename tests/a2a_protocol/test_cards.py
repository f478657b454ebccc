from __future__ import annotations

import json

from a2a_protocol import cards, proto_json
from a2a_protocol.types import AgentCard, AgentCardSignature
from tests.a2a_protocol.proto_facts import FIXTURES

CARD = proto_json.read(
    AgentCard,
    json.loads((FIXTURES / "wire/1.0/GetExtendedAgentCard/no_skills.json").read_text())[
        "result"
    ],
)


def test_the_profile_extension_has_a_constant_uri() -> None:
    """S6."""
    assert cards.PROFILE_EXTENSION_URI == (
        "https://nr-llm.netresearch.de/a2a/ext/profile/v1"
    )


def test_declares_bearer_tokens() -> None:
    """S6."""
    schemes = {
        name: proto_json.write(scheme)
        for name, scheme in cards.bearer_schemes().items()
    }
    requirements = [proto_json.write(row) for row in cards.bearer_requirements()]

    assert schemes == {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}
    assert requirements == [{"schemes": {"bearer": {"list": []}}}]


def test_a_signature_does_not_change_what_it_covers() -> None:
    signature = AgentCardSignature(protected="a", signature="b")
    signed = CARD.model_copy(update={"signatures": (signature,)})

    assert cards.canonical_card(signed) == cards.canonical_card(CARD)


def test_the_canonical_card_keeps_required_and_set_members_only() -> None:
    """Specification 8.4.1; a scope list that is shown empty is a default."""
    canonical = json.loads(cards.canonical_card(CARD))

    assert canonical["skills"] == []
    assert canonical["capabilities"]["streaming"] is False
    assert canonical["securityRequirements"] == [{"schemes": {"bearer": {}}}]
    assert "documentationUrl" not in canonical
    assert list(canonical) == sorted(canonical)


def test_the_content_hash_is_of_the_utf_8_text() -> None:
    """S8."""
    assert cards.content_hash("ä") == (
        "33e6d73fee82904c8d7afb78de1154d1e8dc2a0edb08120e63df5b9385c2d9cc"
    )
