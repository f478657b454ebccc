from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from a2a_client.models import RemoteAgent
from tests.a2a_client import cards, scripts
from tests.a2a_client.management.commands import run

if TYPE_CHECKING:
    from tests.a2a_client.management.conftest import Input
    from tests.a2a_client.peer import Peer

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stdin")]

ELSEWHERE = "https://elsewhere.example"


def test_makes_an_agent_that_is_off(peer: Peer) -> None:
    """C2."""
    peer.serve_card(cards.card(peer.url))

    said = run("a2a_agent_import", "desk", "--card-url", peer.card_url, "--yes")

    agent = RemoteAgent.objects.get(identifier="desk")
    assert said.code == 0
    assert (agent.name, agent.is_enabled, agent.is_confirmed) == ("Desk", False, True)
    assert "Enable it in the admin" in said.out


def test_shows_what_the_card_says(peer: Peer) -> None:
    """C2."""
    peer.serve_card(
        cards.card(
            peer.url, provider={"organization": "Press", "url": "https://p.example"}
        )
    )

    said = run("a2a_agent_import", "desk", "--card-url", peer.card_url, "--yes")

    for told in ("Desk", "1.4", "Knows the news.", "Press", "news (News: Finds news.)"):
        assert told in said.out
    assert f"JSONRPC 1.0 at {peer.url}" in said.out
    assert "streaming" in said.out


def test_lets_no_card_move_the_cursor(peer: Peer) -> None:
    peer.serve_card(cards.card(peer.url, description="a\x1b[2Jb\nEnabled: yes"))

    said = run("a2a_agent_import", "desk", "--card-url", peer.card_url, "--yes")

    assert "\x1b" not in said.out
    assert "a[2Jb Enabled: yes" in said.out


def test_takes_the_name_that_is_given(peer: Peer) -> None:
    peer.serve_card(cards.card(peer.url))

    run("a2a_agent_import", "d", "--card-url", peer.card_url, "--name", "My", "--yes")

    assert RemoteAgent.objects.get(identifier="d").name == "My"


@pytest.mark.parametrize("answer", ["", "n\n", "\n"])
def test_stores_nothing_that_nobody_agreed_to(
    peer: Peer, stdin: Input, answer: str
) -> None:
    """C2: also where nobody can be asked."""
    peer.serve_card(cards.card(peer.url))
    stdin.typed(answer) if answer else stdin.piped("")

    said = run("a2a_agent_import", "desk", "--card-url", peer.card_url)

    assert said.code == 1
    assert "Nothing was stored." in said.problem
    assert not RemoteAgent.objects.exists()


def test_stores_what_somebody_agreed_to(peer: Peer, stdin: Input) -> None:
    peer.serve_card(cards.card(peer.url))
    stdin.typed("y\n")

    said = run("a2a_agent_import", "desk", "--card-url", peer.card_url)

    assert (said.code, "Store it?" in said.err) == (0, True)
    assert RemoteAgent.objects.get().is_confirmed


def test_a_card_that_cannot_be_used_makes_no_agent(peer: Peer) -> None:
    """C2."""
    peer.on("GET /.well-known/agent-card.json", scripts.http(404))

    said = run("a2a_agent_import", "desk", "--card-url", peer.card_url, "--yes")

    assert (said.code, RemoteAgent.objects.count()) == (1, 0)
    assert "There is no card" in said.problem


def test_imports_a_known_agent_anew(peer: Peer) -> None:
    peer.serve_card(cards.card(peer.url, version="1.5"))
    agent = cards.agent_without_card(peer.card_url, card=json.dumps(cards.card("x")))

    said = run("a2a_agent_import", "desk", "--yes")

    agent.refresh_from_db()
    assert agent.interface_url == peer.url
    assert "Changed:" in said.out
    assert "1.5" in said.out


def test_says_how_to_confirm_another_origin(peer: Peer) -> None:
    """C2."""
    peer.serve_card(cards.card(f"{ELSEWHERE}/rpc"))
    cards.agent_without_card(peer.card_url)

    said = run("a2a_agent_import", "desk", "--yes")

    assert said.code == 0
    assert f"a2a_agent_import desk --confirm-origin {ELSEWHERE}" in said.out
    assert not RemoteAgent.objects.get().is_confirmed


def test_confirms_an_origin(peer: Peer) -> None:
    """C2."""
    peer.serve_card(cards.card(f"{ELSEWHERE}/rpc"))
    cards.agent_without_card(peer.card_url)

    said = run("a2a_agent_import", "desk", "--yes", "--confirm-origin", ELSEWHERE)

    assert said.code == 0
    assert RemoteAgent.objects.get().is_confirmed


def test_confirms_no_other_origin_and_stores_nothing_then(peer: Peer) -> None:
    peer.serve_card(cards.card(f"{ELSEWHERE}/rpc"))
    cards.agent_without_card(peer.card_url)

    said = run(
        "a2a_agent_import", "desk", "--yes", "--confirm-origin", "https://o.example"
    )

    assert (said.code, RemoteAgent.objects.get().card) == (1, "")
    assert ELSEWHERE in said.problem


@pytest.mark.parametrize(
    "more",
    [
        pytest.param(["desk", "--card-url", "https://new.example/card"], id="url"),
        pytest.param(["desk", "--name", "Other"], id="name"),
        pytest.param(
            ["Desk!", "--card-url", "https://new.example/card"], id="identifier"
        ),
        pytest.param(["new", "--card-url", "http://new.example/card"], id="http"),
    ],
)
def test_bad_values_end_with_2(more: list[str]) -> None:
    """W8."""
    cards.agent_without_card("https://agent.example/card")

    said = run("a2a_agent_import", *more)

    assert said.code == 2
    assert said.problem


def test_prints_for_machines(peer: Peer) -> None:
    bearer = {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}
    asks = [{"schemes": {"bearer": {"list": []}}}]
    card = cards.card(peer.url, securitySchemes=bearer, securityRequirements=asks)
    peer.serve_card(card)

    said = run(
        "a2a_agent_import", "desk", "--card-url", peer.card_url, "--yes", "--json"
    )

    told = json.loads(said.out)
    assert (told["identifier"], told["confirmed"], told["enabled"]) == (
        "desk",
        True,
        False,
    )
    assert told["card"]["interface"]["url"] == peer.url
    assert told["card"]["security"] == ["a bearer token"]
    assert told["card"]["skills"] == [{"id": "news", "name": "News"}]
    assert (
        "Choose its credential in the admin, and enter the secret." in told["leftToDo"]
    )
