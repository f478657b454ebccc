from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from a2a_client import describing, importing
from tests import factories
from tests.a2a_client import cards

if TYPE_CHECKING:
    from tests.a2a_client.peer import Peer

pytestmark = pytest.mark.django_db


def lines_of(peer: Peer, **members: Any) -> list[str]:
    peer.serve_card(cards.card(peer.url, **members))
    seen = importing.preview(cards.agent_without_card(peer.card_url))
    return list(describing.card_lines(seen))


def test_leaves_out_what_a_card_does_not_say(peer: Peer) -> None:
    told = lines_of(peer, description="", capabilities={})

    labels = [line.partition(":")[0] for line in told]
    assert labels == ["Name", "Version", "Interface", "Asks for", "Skill"]


def test_shows_only_so_many_skills(peer: Peer) -> None:
    skills = [cards.SKILL | {"id": f"skill-{n}"} for n in range(53)]

    told = lines_of(peer, skills=skills)

    assert [line for line in told if "skill-" in line][-1].split()[1] == "skill-49"
    assert told[-1].split() == ["Skill:", "3", "more"]


def test_tells_what_was_passed_over(peer: Peer) -> None:
    told = lines_of(peer, capabilities={"streaming": "perhaps"})

    assert any(line.startswith("Passed over:") for line in told)


def test_nothing_is_left_to_do_for_an_agent_that_can_be_called() -> None:
    assert describing.left_to_do(factories.make_remote_agent()) == []


def test_a_card_that_asks_for_nothing_needs_no_credential() -> None:
    agent = factories.make_remote_agent()

    assert (
        describing.left_to_do(agent, security=["a bearer token", "no credential"]) == []
    )
    assert (
        "Choose its credential" in describing.left_to_do(agent, security=["a key"])[0]
    )


def test_a_secret_that_is_missing_is_left_to_do() -> None:
    agent = factories.make_remote_agent(credential_kind="bearer")

    assert "a2a_agent_secret" in describing.left_to_do(agent)[0]
