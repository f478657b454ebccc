from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from a2a_client import importing
from a2a_client.fetching import CardError
from a2a_client.models import RemoteAgent
from tests.a2a_client import cards, scripts

if TYPE_CHECKING:
    from typing import Any

    from tests.a2a_client.peer import Peer

pytestmark = pytest.mark.django_db

CARD = "GET /.well-known/agent-card.json"
ELSEWHERE = "https://elsewhere.example/rpc"


def imported(agent: RemoteAgent) -> RemoteAgent:
    importing.store(agent, importing.preview(agent))
    return RemoteAgent.objects.get(pk=agent.pk)


def as_stored(agent: RemoteAgent) -> dict[str, Any]:
    return RemoteAgent.objects.filter(pk=agent.pk).values().get()


# --- Looking --------------------------------------------------------------------------


def test_a_preview_tells_what_the_card_says_and_stores_nothing(peer: Peer) -> None:
    """C2."""
    peer.serve_card(cards.card(peer.url))
    agent = cards.agent_without_card(peer.card_url)
    before = as_stored(agent)

    seen = importing.preview(agent)

    assert (seen.card.name, seen.card.skills[0].id) == ("Desk", "news")
    assert (seen.interface.url, seen.interface.version) == (peer.url, "1.0")
    assert (seen.origin, seen.must_be_confirmed) == (peer.origin, False)
    assert (seen.is_new, seen.differences, seen.warnings) == (True, (), ())
    assert as_stored(agent) == before


def test_a_card_without_an_interface_of_ours_stores_nothing(peer: Peer) -> None:
    """C2: it says what the card offers."""
    grpc = cards.interface(peer.url, protocolBinding="GRPC")
    peer.serve_card(cards.card(peer.url, supportedInterfaces=[grpc]))

    with pytest.raises(CardError, match=r"The card offers GRPC 1\.0"):
        importing.preview(cards.agent_without_card(peer.card_url))


@pytest.mark.parametrize(
    ("body", "told"),
    [
        pytest.param(b"not json", "no JSON", id="no-json"),
        pytest.param(b"\xff", "no JSON", id="no-utf-8"),
        pytest.param(b'{"name": "a", "name": "b"}', "no JSON", id="twice"),
        pytest.param(b"[]", "no agent card", id="a-list"),
        pytest.param(b'{"detail": "x"}', "no interface", id="another-object"),
    ],
)
def test_what_is_no_card_is_a_sentence(peer: Peer, body: bytes, told: str) -> None:
    """C2."""
    peer.on(CARD, scripts.http(200, body))

    with pytest.raises(CardError, match=told):
        importing.preview(cards.agent_without_card(peer.card_url))


@pytest.mark.parametrize(
    "members",
    [
        pytest.param({"url": "https://agent.example/" + "a" * 2000}, id="url"),
        pytest.param({"tenant": "t" * 256}, id="tenant"),
    ],
)
def test_an_interface_that_no_column_holds_is_a_sentence(
    peer: Peer, members: dict[str, str]
) -> None:
    offered = cards.interface(peer.url) | members
    peer.serve_card(cards.card(peer.url, supportedInterfaces=[offered]))

    with pytest.raises(CardError, match="is longer than"):
        importing.preview(cards.agent_without_card(peer.card_url))


def test_an_interface_whose_host_is_none_is_a_sentence(peer: Peer) -> None:
    peer.serve_card(cards.card("https://2130706433/rpc"))

    with pytest.raises(CardError, match="interface cannot be used"):
        importing.preview(cards.agent_without_card(peer.card_url))


def test_warns_of_an_interface_that_the_guard_refuses(peer: Peer) -> None:
    """C2, E2."""
    peer.serve_card(cards.card("https://10.0.0.1/rpc"))

    seen = importing.preview(cards.agent_without_card(peer.card_url))

    assert "10.0.0.1" in seen.warnings[0]


def test_warns_of_allowed_skills_that_the_card_lost(peer: Peer) -> None:
    peer.serve_card(cards.card(peer.url))
    agent = cards.agent_without_card(peer.card_url, allowed_skills=["news", "weather"])

    seen = importing.preview(agent)

    assert seen.warnings == ("Allowed skills that the card does not have: weather.",)


def test_a_second_import_tells_the_differences(peer: Peer) -> None:
    """C2."""
    peer.serve_card(cards.card(peer.url))
    agent = imported(cards.agent_without_card(peer.card_url))
    peer.serve_card(cards.card(f"{peer.origin}/new", skills=[]))

    seen = importing.preview(agent)

    told = " ".join(seen.differences)
    assert "news" in told
    assert f"The interface in use becomes {peer.origin}/new." in told


def test_another_tenant_is_a_difference(peer: Peer) -> None:
    """C2: messages go to somebody else at the same address."""
    peer.serve_card(cards.card(peer.url))
    agent = imported(cards.agent_without_card(peer.card_url))
    offered = cards.interface(peer.url, tenant="acme")
    peer.serve_card(cards.card(peer.url, supportedInterfaces=[offered]))

    seen = importing.preview(agent)

    told = f"The interface in use becomes {peer.url}, tenant «acme»."
    assert seen.differences[-1] == told
    assert not seen.is_as_stored


def test_an_agent_that_says_as_before_is_as_stored(peer: Peer) -> None:
    peer.serve_card(cards.card(peer.url))
    agent = imported(cards.agent_without_card(peer.card_url))
    peer.on(CARD, scripts.http(304))

    seen = importing.preview(agent)

    assert seen.is_as_stored
    assert (seen.text, seen.etag) == (agent.card, agent.card_etag)
    assert peer.received[-1].headers["if-none-match"] == agent.card_etag


def test_a_stored_card_that_cannot_be_read_is_asked_for_anew(peer: Peer) -> None:
    peer.serve_card(cards.card(peer.url))
    agent = cards.agent_without_card(peer.card_url, card="[]", card_etag='"1"')

    assert importing.preview(agent).is_new
    assert "if-none-match" not in peer.received[0].headers


def test_the_digest_does_not_hang_on_the_order_of_members(peer: Peer) -> None:
    card = cards.card(peer.url)
    agent = cards.agent_without_card(peer.card_url)
    digests = []
    for text in (json.dumps(card), json.dumps(card, sort_keys=True, indent=1)):
        peer.on(CARD, scripts.http(200, text.encode()))
        digests.append(importing.preview(agent).digest)

    peer.serve_card(card | {"version": "1.5"})

    assert digests[0] == digests[1] != importing.preview(agent).digest


# --- Storing --------------------------------------------------------------------------


def test_stores_what_was_seen(peer: Peer) -> None:
    """C1, C2: not what the agent says by then."""
    peer.serve_card(cards.card(peer.url))
    agent = cards.agent_without_card(peer.card_url)
    seen = importing.preview(agent)
    peer.serve_card(cards.card("https://later.example"))

    importing.store(agent, seen)

    stored = RemoteAgent.objects.get(pk=agent.pk)
    assert (stored.interface_url, stored.interface_binding) == (peer.url, "JSONRPC")
    assert (stored.interface_version, stored.interface_tenant) == ("1.0", "")
    assert (stored.card, stored.card_hash) == (seen.text, seen.card_hash)
    assert stored.card_etag
    assert stored.card_at
    card = importing.stored_card(stored)
    assert card
    assert card.name == "Desk"


def test_the_first_import_confirms_the_cards_own_origin(peer: Peer) -> None:
    """C2."""
    peer.serve_card(cards.card(peer.url))

    agent = imported(cards.agent_without_card(peer.card_url))

    assert agent.confirmed_origin == peer.origin
    assert agent.is_confirmed


def test_another_origin_waits_at_the_first_import_too(peer: Peer) -> None:
    """C2."""
    peer.serve_card(cards.card(ELSEWHERE))
    agent = cards.agent_without_card(peer.card_url)

    assert importing.preview(agent).must_be_confirmed
    stored = imported(agent)

    assert not stored.is_confirmed
    assert stored.reach_problem()


def test_an_origin_that_a_redirect_led_to_waits(peer: Peer) -> None:
    """C2: the card's origin is that of the URL that was entered."""
    with type(peer)() as elsewhere:
        elsewhere.serve_card(cards.card("/rpc"))
        peer.on(CARD, scripts.redirect(elsewhere.card_url))
        agent = imported(cards.agent_without_card(peer.card_url))

    assert agent.interface_url == elsewhere.url
    assert not agent.is_confirmed


def test_a_later_change_of_origin_waits(peer: Peer) -> None:
    """C2."""
    peer.serve_card(cards.card(peer.url))
    agent = imported(cards.agent_without_card(peer.card_url))
    peer.serve_card(cards.card(ELSEWHERE))

    assert importing.preview(agent).must_be_confirmed
    stored = imported(agent)

    assert stored.confirmed_origin == peer.origin
    assert not stored.is_confirmed


def test_a_later_change_to_the_cards_own_origin_waits_too(peer: Peer) -> None:
    """C2: every later change."""
    peer.serve_card(cards.card(ELSEWHERE))
    agent = imported(cards.agent_without_card(peer.card_url))
    importing.confirm_origin(agent, "https://elsewhere.example")
    peer.serve_card(cards.card(peer.url))

    assert not imported(agent).is_confirmed


def test_another_path_of_the_confirmed_origin_needs_no_new_word(peer: Peer) -> None:
    peer.serve_card(cards.card(peer.url))
    agent = imported(cards.agent_without_card(peer.card_url))
    peer.serve_card(cards.card(f"{peer.origin}/v2"))

    assert imported(agent).is_confirmed


@pytest.mark.parametrize(
    "changed",
    [
        {"card_url": "https://moved.example/card"},
        {"card_hash": "0" * 64},
        {"confirmed_origin": "https://h.example"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_stores_nothing_over_what_changed_meanwhile(
    peer: Peer, changed: dict[str, str]
) -> None:
    """C2: compare-and-set."""
    peer.serve_card(cards.card(peer.url))
    agent = cards.agent_without_card(peer.card_url)
    seen = importing.preview(agent)
    RemoteAgent.objects.filter(pk=agent.pk).update(**changed)
    before = as_stored(agent)

    with pytest.raises(importing.Stale, match="Look at the card again"):
        importing.store(agent, seen)

    assert as_stored(agent) == before


# --- Confirming -----------------------------------------------------------------------


def waiting_agent(peer: Peer) -> RemoteAgent:
    peer.serve_card(cards.card(ELSEWHERE))
    return imported(cards.agent_without_card(peer.card_url))


def test_confirms_an_origin(peer: Peer) -> None:
    """C2."""
    agent = waiting_agent(peer)

    importing.confirm_origin(agent, "https://elsewhere.example")

    assert RemoteAgent.objects.get(pk=agent.pk).is_confirmed


def test_confirms_no_origin_but_the_interfaces(peer: Peer) -> None:
    agent = waiting_agent(peer)

    with pytest.raises(importing.Stale):
        importing.confirm_origin(agent, "https://other.example")

    assert not RemoteAgent.objects.get(pk=agent.pk).is_confirmed


def test_confirms_nothing_before_an_import(peer: Peer) -> None:
    agent = cards.agent_without_card(peer.card_url)

    with pytest.raises(importing.Stale):
        importing.confirm_origin(agent, "")


def test_confirms_nothing_that_moved_meanwhile(peer: Peer) -> None:
    """C2: what an administrator read is what is confirmed."""
    agent = waiting_agent(peer)
    moved = RemoteAgent.objects.get(pk=agent.pk)
    peer.serve_card(cards.card("https://third.example/rpc"))
    importing.store(moved, importing.preview(moved))

    with pytest.raises(importing.Stale):
        importing.confirm_origin(agent, "https://elsewhere.example")


def test_forgets_a_confirmation(peer: Peer) -> None:
    """An import alone does not bring it back."""
    peer.serve_card(cards.card(peer.url))
    agent = imported(cards.agent_without_card(peer.card_url))

    importing.forget_confirmation(agent)

    assert not RemoteAgent.objects.get(pk=agent.pk).is_confirmed
    assert not imported(agent).is_confirmed


def test_another_card_url_begins_anew(peer: Peer) -> None:
    """C2, P1."""
    peer.serve_card(cards.card(ELSEWHERE))
    agent = imported(cards.agent_without_card(peer.card_url))
    peer.on("GET /card", scripts.http(200, json.dumps(cards.card(peer.url)).encode()))

    agent.card_url = f"{peer.origin}/card"
    agent.save()

    assert not agent.card
    assert imported(agent).is_confirmed
