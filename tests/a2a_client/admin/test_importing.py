"""C2: a card is looked at, then stored as it was seen; opening a page asks nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse

from a2a_client.models import RemoteAgent
from tests import html_forms
from tests.a2a_client import cards, scripts

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test import Client as Browser

    from tests.a2a_client.peer import Peer

pytestmark = pytest.mark.django_db

LIST = reverse("admin:a2a_client_remoteagent_changelist")
VIEW = "a2a_client.view_remoteagent"
CHANGE = "a2a_client.change_remoteagent"
ELSEWHERE = "https://elsewhere.example"


@pytest.fixture
def agent(peer: Peer) -> RemoteAgent:
    """Registered; its card is at the peer and has not been imported."""
    peer.serve_card(cards.card(peer.url))
    return cards.agent_without_card(peer.card_url)


def page_of(agent: RemoteAgent, page: str = "import") -> str:
    return reverse(f"admin:a2a_client_remoteagent_{page}", args=[agent.pk])


def press(browser: Browser, page: Any, form: str, **changes: Any) -> Any:
    """Send one form of a page as it came, but for `changes`."""
    values = html_forms.values_of(page, form) | changes
    return browser.post(page.request["PATH_INFO"], values, follow=True)


def look(browser: Browser, agent: RemoteAgent) -> Any:
    return press(browser, browser.get(page_of(agent)), "fetch_form")


def stored() -> RemoteAgent:
    return RemoteAgent.objects.get()


def test_opening_the_page_asks_nobody(
    browser: Browser, agent: RemoteAgent, peer: Peer
) -> None:
    page = browser.get(page_of(agent)).content.decode()

    assert "Nothing yet. Fetch the card" in page
    assert not peer.received


def test_looking_shows_what_the_card_says_and_stores_nothing(
    browser: Browser, agent: RemoteAgent, peer: Peer
) -> None:
    page = look(browser, agent).content.decode()

    for text in ("Desk", "Knows the news.", "news", "A2A 1.0 over JSONRPC", peer.url):
        assert text in page
    assert "which is where the card is" in page
    assert stored().card == ""


def test_storing_stores_what_was_seen_and_says_what_is_left(
    browser: Browser, agent: RemoteAgent, peer: Peer
) -> None:
    response = press(browser, look(browser, agent), "store_form")

    assert html_forms.sentences(response) == [
        "The card was stored.",
        "What is left: The agent is not enabled.",
    ]
    assert response.redirect_chain == [(page_of(agent, "change"), 302)]
    assert stored().interface_url == peer.url
    assert stored().is_confirmed
    assert LogEntry.objects.get().change_message == "Card imported."


def test_says_which_credential_has_to_be_entered(
    browser: Browser, agent: RemoteAgent, peer: Peer
) -> None:
    """C3."""
    bearer = {"key": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}
    asks = [{"schemes": {"key": {}}}]
    card = cards.card(peer.url, securitySchemes=bearer, securityRequirements=asks)
    peer.serve_card(card)

    response = press(browser, look(browser, agent), "store_form")

    assert html_forms.sentences(response)[1] == (
        "Its card asks for a bearer token: choose its credential and enter the secret."
    )


def test_a_card_that_changed_meanwhile_is_shown_and_not_stored(
    browser: Browser, agent: RemoteAgent, peer: Peer
) -> None:
    seen = look(browser, agent)
    peer.serve_card(cards.card(peer.url, name="Another desk"))

    response = press(browser, seen, "store_form")

    [told] = html_forms.sentences(response)
    assert told.startswith("The card has changed since you looked at it.")
    assert "Another desk" in response.content.decode()
    assert stored().card == ""


@pytest.mark.parametrize("digest", ["", "0" * 64])
def test_what_nobody_looked_at_is_not_stored(
    browser: Browser, agent: RemoteAgent, digest: str
) -> None:
    browser.post(page_of(agent), {"step": "store", "digest": digest})

    assert stored().card == ""


def test_another_host_waits_for_an_administrator(
    browser: Browser, agent: RemoteAgent, peer: Peer
) -> None:
    peer.serve_card(cards.card(f"{ELSEWHERE}/rpc"))
    seen = look(browser, agent)
    assert f"Its interface may be at {ELSEWHERE}" in seen.content.decode()

    response = press(browser, seen, "store_form")

    assert not stored().is_confirmed
    page = response.content.decode()
    assert (
        f"Nobody has confirmed yet that its interface may be at <strong>{ELSEWHERE}"
        in page
    )
    confirmed = press(browser, response, "confirm_form")
    assert stored().is_confirmed
    assert html_forms.sentences(confirmed)[0] == f"Its interface may be at {ELSEWHERE}."


def test_another_host_is_confirmed_by_naming_it(
    browser: Browser, agent: RemoteAgent, peer: Peer
) -> None:
    peer.serve_card(cards.card(f"{ELSEWHERE}/rpc"))

    press(browser, look(browser, agent), "store_form", confirm_origin=ELSEWHERE)

    assert stored().confirmed_origin == ELSEWHERE
    messages = LogEntry.objects.values_list("change_message", flat=True)
    assert set(messages) == {
        "Card imported.",
        f"Confirmed: Its interface may be at {ELSEWHERE}.",
    }


@pytest.mark.parametrize("origin", ["", "on", "https://evil.example"])
def test_another_name_confirms_nothing(
    browser: Browser, agent: RemoteAgent, peer: Peer, origin: str
) -> None:
    peer.serve_card(cards.card(f"{ELSEWHERE}/rpc"))
    seen = look(browser, agent)

    stored_page = press(browser, seen, "store_form", confirm_origin=origin)
    press(browser, stored_page, "confirm_form", origin=origin)

    assert not stored().is_confirmed


def test_a_second_import_tells_the_differences(
    browser: Browser, agent: RemoteAgent, peer: Peer
) -> None:
    press(browser, look(browser, agent), "store_form")
    again = look(browser, agent).content.decode()
    peer.serve_card(cards.card(peer.url, version="1.5"))

    changed = look(browser, agent)

    assert "Nothing: the card is as it is stored." in again
    assert "1.5" in changed.content.decode().partition('id="differences"')[2]
    press(browser, changed, "store_form")
    assert "1.5" in LogEntry.objects.order_by("pk").last().change_message  # type: ignore[union-attr]


def test_a_confirmation_can_be_taken_back(browser: Browser, agent: RemoteAgent) -> None:
    press(browser, look(browser, agent), "store_form")

    response = press(browser, browser.get(page_of(agent)), "forget_form")

    assert not stored().is_confirmed
    [told] = html_forms.sentences(response)
    assert told.startswith("The confirmation was forgotten: nothing is sent")
    assert "confirm_form" in response.content.decode()


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        (scripts.html(), "is a web page, not a card"),
        (scripts.http(404), "There is no card at"),
        (scripts.http(200, b"{}"), "card"),
        (scripts.reset, "127.0.0.1"),
    ],
    ids=["html", "404", "empty", "reset"],
)
def test_a_failure_is_a_sentence(
    browser: Browser, agent: RemoteAgent, peer: Peer, script: Any, sentence: str
) -> None:
    peer.on("GET /.well-known/agent-card.json", script)

    response = look(browser, agent)

    [told] = html_forms.sentences(response)
    assert sentence in told
    assert response.status_code == 200
    assert "fetch_form" in response.content.decode()


def test_what_the_guard_refuses_is_a_sentence(browser: Browser, peer: Peer) -> None:
    """E2."""
    agent = cards.agent_without_card("https://10.0.0.1/card")

    [told] = html_forms.sentences(look(browser, agent))

    assert "10.0.0.1" in told


def test_somebody_who_was_faster_is_told(
    browser: Browser, agent: RemoteAgent, peer: Peer
) -> None:
    peer.serve_card(cards.card(f"{ELSEWHERE}/rpc"))
    press(browser, look(browser, agent), "store_form")
    page = browser.get(page_of(agent))
    RemoteAgent.objects.update(interface_url="https://third.example/rpc")

    response = press(browser, page, "confirm_form")

    [told] = html_forms.sentences(response)
    assert told.startswith("Somebody changed the agent or imported its card meanwhile.")
    assert not stored().is_confirmed


def test_what_a_card_says_is_escaped(
    browser: Browser, agent: RemoteAgent, peer: Peer
) -> None:
    skill = {**cards.SKILL, "description": "<b>x</b>\u202e"}
    peer.serve_card(cards.card(peer.url, name="<script>", skills=[skill]))

    page = look(browser, agent).content.decode()

    assert "&lt;script&gt;" in page
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert "\u202e" not in page


def test_a_step_that_is_none_shows_the_page(
    browser: Browser, agent: RemoteAgent, peer: Peer
) -> None:
    response = browser.post(page_of(agent), {"step": "nonsense"})

    assert response.status_code == 200
    assert not peer.received


# --- Getting there --------------------------------------------------------------------


def test_the_action_leads_to_the_page(browser: Browser, agent: RemoteAgent) -> None:
    sent = {"action": "import_selected", "_selected_action": [agent.pk], "index": 0}

    response = browser.post(LIST, sent)

    assert response.headers["Location"] == page_of(agent)


def test_the_action_takes_one_agent(browser: Browser, agent: RemoteAgent) -> None:
    other = cards.agent_without_card("https://other.example/card", identifier="other")
    sent = {"action": "import_selected", "_selected_action": [agent.pk, other.pk]}

    response = browser.post(LIST, sent, follow=True)

    assert html_forms.sentences(response)[0].startswith("Choose one agent")


@pytest.mark.parametrize(
    ("permissions", "status"), [([], 403), ([VIEW], 403), ([CHANGE], 200)]
)
def test_importing_takes_the_permission_to_change(
    browser_of: Callable[..., Browser],
    agent: RemoteAgent,
    peer: Peer,
    permissions: list[str],
    status: int,
) -> None:
    """P5."""
    browser = browser_of(*permissions)

    assert browser.get(page_of(agent)).status_code == status
    assert browser.post(page_of(agent), {"step": "fetch"}).status_code == status
    assert bool(peer.received) is (status == 200)


def test_an_agent_that_is_not_there_leads_back(browser: Browser) -> None:
    url = reverse("admin:a2a_client_remoteagent_import", args=["99"])

    assert browser.get(url).status_code == 302
    assert browser.put(url).status_code == 405
