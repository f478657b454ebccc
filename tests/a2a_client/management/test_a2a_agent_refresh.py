from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from a2a_client.models import RemoteAgent
from tests.a2a_client import cards
from tests.a2a_client.management.commands import run

if TYPE_CHECKING:
    from tests.a2a_client.peer import Peer

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(peer: Peer) -> RemoteAgent:
    """An agent whose card was imported."""
    peer.serve_card(cards.card(peer.url))
    agent = cards.agent_without_card(peer.card_url)
    run("a2a_agent_import", "desk", "--yes")
    return agent


@pytest.mark.usefixtures("desk")
def test_says_that_all_is_as_before() -> None:
    said = run("a2a_agent_refresh", "desk")

    assert (said.code, said.out) == (0, "desk: as before.\n")


@pytest.mark.usefixtures("desk")
def test_stores_and_tells_the_differences(peer: Peer) -> None:
    """C2."""
    peer.serve_card(cards.card(f"{peer.origin}/v2"))

    said = run("a2a_agent_refresh", "--all")

    assert said.code == 0
    assert f"The interface in use becomes {peer.origin}/v2." in said.out
    assert RemoteAgent.objects.get().interface_url == f"{peer.origin}/v2"


@pytest.mark.usefixtures("desk")
def test_another_origin_ends_with_1(peer: Peer) -> None:
    """C2."""
    peer.serve_card(cards.card("https://elsewhere.example/rpc"))

    said = run("a2a_agent_refresh", "desk")

    assert said.code == 1
    assert "Confirm that its interface may be at https://elsewhere.example" in said.out
    assert not RemoteAgent.objects.get().is_confirmed


@pytest.mark.usefixtures("desk")
def test_one_failure_does_not_stop_the_others(peer: Peer) -> None:
    cards.agent_without_card(f"{peer.origin}/none", identifier="away")

    said = run("a2a_agent_refresh", "--all", "--json")

    away, desk = json.loads(said.out)
    assert said.code == 1
    assert (away["identifier"], desk["identifier"]) == ("away", "desk")
    assert "There is no card" in away["problem"]
    assert (desk["problem"], desk["differences"]) == ("", [])


def test_says_that_there_are_no_agents() -> None:
    said = run("a2a_agent_refresh", "--all")

    assert (said.code, said.out) == (0, "There are no agents.\n")


@pytest.mark.parametrize("arguments", [[], ["desk", "--all"]], ids=["none", "both"])
def test_wants_agents_or_all(arguments: list[str]) -> None:
    """W8."""
    assert run("a2a_agent_refresh", *arguments).code == 2
