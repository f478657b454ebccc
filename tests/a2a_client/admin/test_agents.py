from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse

from a2a_client.models import CallState, CredentialKind, RemoteAgent
from agent_runs import clock
from tests import factories, html_forms
from tests.a2a_client import cards, scripts

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test import Client as Browser
    from pytest_django import DjangoAssertNumQueries
    from pytest_django.fixtures import SettingsWrapper

    from tests.a2a_client.peer import Peer

pytestmark = pytest.mark.django_db

LIST = reverse("admin:a2a_client_remoteagent_changelist")
ADD = reverse("admin:a2a_client_remoteagent_add")
VIEW = "a2a_client.view_remoteagent"
CHANGE = "a2a_client.change_remoteagent"
CALL = "a2a_client.call_remoteagent"
FORM = "remoteagent_form"
URL = "https://agent.example/rpc"
SECRET = "s3cret-of-the-agent"


def page_of(agent: RemoteAgent, page: str = "change") -> str:
    return reverse(f"admin:a2a_client_remoteagent_{page}", args=[agent.pk])


def text_of(browser: Browser, url: str) -> str:
    response = browser.get(url)
    assert response.status_code == 200
    text: str = response.content.decode()
    return text


def stored() -> RemoteAgent:
    return RemoteAgent.objects.get()


def agent_with_card(**values: Any) -> RemoteAgent:
    return factories.make_remote_agent(URL, card=json.dumps(cards.card(URL)), **values)


# --- The list -------------------------------------------------------------------------


def test_an_empty_list_says_what_to_do(browser: Browser) -> None:
    assert "No remote agent yet. Add one" in text_of(browser, LIST)


def test_the_list_counts_active_calls_of_each_agent(browser: Browser) -> None:
    busy = agent_with_card(max_active_calls=3)
    factories.make_remote_agent()
    for state in (CallState.WORKING, CallState.ASKING, CallState.COMPLETED):
        factories.make_remote_call(state, agent=busy)

    page = text_of(browser, LIST)

    assert "2 of 3" in page
    assert "0 of 5" in page


def test_the_list_takes_as_many_queries_for_many_agents(
    browser: Browser, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(6):
        factories.make_remote_call(agent=agent_with_card())

    with django_assert_max_num_queries(7):
        browser.get(LIST)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            {"interface_url": "", "confirmed_origin": ""},
            "It has no interface to use: import its card.",
        ),
        ({"confirmed_origin": ""}, "Nobody has confirmed that its interface may be at"),
        (
            {"credential_kind": CredentialKind.BEARER},
            "Its credential has to be entered",
        ),
    ],
    ids=["no card", "no confirmation", "no secret"],
)
def test_the_list_says_what_keeps_an_agent_from_being_called(
    browser: Browser, values: dict[str, str], sentence: str
) -> None:
    factories.make_remote_agent(URL, **values)

    assert sentence in text_of(browser, LIST)


@pytest.mark.parametrize(
    ("state", "code", "sentence"),
    [
        (CallState.FAILED, "auth_required", "Its last step waits for a sign-in"),
        (CallState.NOT_ACCEPTED, "http_401", "It refused the credential"),
        (CallState.NOT_ACCEPTED, "http_403", "It refused the credential"),
        (CallState.UNKNOWN, "crashed", "Nobody knows what became of its last step"),
    ],
)
def test_the_list_says_what_the_last_step_met(
    browser: Browser, state: str, code: str, sentence: str
) -> None:
    """C7, C8: until the next one ends well."""
    agent = agent_with_card()
    factories.make_remote_call(state, agent=agent, code=code)
    before = text_of(browser, LIST)

    later = clock.database_now() + timedelta(seconds=1)
    factories.make_remote_call(CallState.COMPLETED, agent=agent, now=later)

    assert sentence in before
    assert sentence not in text_of(browser, LIST)


def test_what_was_looked_up_needs_no_attention(browser: Browser) -> None:
    agent, now = agent_with_card(), clock.database_now()
    factories.make_remote_call(CallState.UNKNOWN, agent=agent, looked_up_at=now)

    assert "Nobody knows" not in text_of(browser, LIST)


# --- The form -------------------------------------------------------------------------


def test_adding_leads_to_the_import_and_asks_nobody(
    browser: Browser, peer: Peer
) -> None:
    """C2."""
    response = html_forms.save(
        browser, ADD, FORM, name="Desk", identifier="desk", card_url=peer.card_url
    )

    agent = stored()
    assert response.redirect_chain[-1] == (page_of(agent, "import"), 302)
    assert html_forms.sentences(response)[-1] == "Next, import its card."
    assert not agent.is_enabled
    assert not peer.received


def test_another_card_url_forgets_the_card_and_leads_to_the_import(
    browser: Browser,
) -> None:
    """P1, C2."""
    agent = agent_with_card(is_enabled=False)

    response = html_forms.save(
        browser, page_of(agent), FORM, card_url="https://other.example/card"
    )

    assert (stored().card, stored().interface_url) == ("", "")
    assert "The card was forgotten." in html_forms.sentences(response)
    assert response.redirect_chain[-1] == (page_of(agent, "import"), 302)


def test_a_secret_goes_in_and_never_comes_out(browser: Browser) -> None:
    """P1."""
    agent = agent_with_card()

    response = html_forms.save(
        browser,
        page_of(agent),
        FORM,
        credential_kind=CredentialKind.BEARER,
        new_secret=SECRET,
    )

    assert stored().credential_secret == SECRET
    page = text_of(browser, page_of(agent))
    assert "a secret is stored" in page
    for text in (page, response.content.decode(), text_of(browser, LIST)):
        assert SECRET not in text
    assert SECRET not in str(LogEntry.objects.values_list("change_message", flat=True))


def test_a_refused_form_does_not_bring_the_secret_back(browser: Browser) -> None:
    agent = agent_with_card()

    response = html_forms.save(
        browser, page_of(agent), FORM, name="", new_secret=SECRET
    )

    assert "This field is required." in html_forms.errors(response)
    assert SECRET not in response.content.decode()


def test_an_agent_is_enabled_with_the_secret_that_it_needs(browser: Browser) -> None:
    """P6: what is entered counts in the same save."""
    agent = agent_with_card(is_enabled=False, credential_kind=CredentialKind.BEARER)

    refused = html_forms.save(browser, page_of(agent), FORM, is_enabled="on")
    html_forms.save(browser, page_of(agent), FORM, is_enabled="on", new_secret=SECRET)

    assert "It cannot be enabled: " in html_forms.errors(refused)
    assert stored().is_enabled


def test_the_secret_is_removed(browser: Browser) -> None:
    """P6: also of an agent that is enabled."""
    agent = agent_with_card(secret=SECRET, credential_kind=CredentialKind.BEARER)

    response = html_forms.save(browser, page_of(agent), FORM, remove_secret="on")

    assert not stored().has_secret
    assert "The stored secret was removed." in html_forms.sentences(response)


def test_nothing_entered_keeps_the_secret(browser: Browser) -> None:
    agent = agent_with_card(secret=SECRET, credential_kind=CredentialKind.BEARER)

    html_forms.save(browser, page_of(agent), FORM, name="Renamed")

    assert (stored().name, stored().credential_secret) == ("Renamed", SECRET)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"new_secret": "x"}, "Choose the kind of credential first."),
        (
            {"new_secret": "x\u00e4", "credential_kind": "bearer"},
            "cannot be sent in a header",
        ),
        (
            {"new_secret": "x", "remove_secret": "on", "credential_kind": "bearer"},
            "Either enter a secret or remove the stored one.",
        ),
        ({"identifier": "No Name"}, "Small letters, digits and underscores only."),
        ({"card_url": "ftp://agent.example/"}, "must begin with «https://»"),
    ],
    ids=["no kind", "letters", "both", "identifier", "scheme"],
)
def test_a_mistake_is_told(
    browser: Browser, changes: dict[str, str], sentence: str
) -> None:
    agent = agent_with_card()

    response = html_forms.save(browser, page_of(agent), FORM, **changes)

    assert sentence in html_forms.errors(response)
    assert not stored().has_secret


def test_a_secret_that_cannot_be_encrypted_is_told(
    browser: Browser, settings: SettingsWrapper
) -> None:
    agent = agent_with_card()
    settings.A2A_ENCRYPTION_KEYS = []

    response = html_forms.save(
        browser, page_of(agent), FORM, credential_kind="bearer", new_secret=SECRET
    )

    assert "A2A_ENCRYPTION_KEYS holds no usable key" in html_forms.errors(response)


def test_skills_are_chosen_from_the_stored_card(browser: Browser) -> None:
    agent = agent_with_card()
    assert "News (news)" in text_of(browser, page_of(agent))

    html_forms.save(browser, page_of(agent), FORM, allowed_skills=["news"])

    assert stored().allowed_skills == ["news"]
    refused = html_forms.save(browser, page_of(agent), FORM, allowed_skills=["other"])
    assert "The card has no skill «other»." in html_forms.errors(refused)


def test_an_allowed_skill_that_the_card_lost_is_seen_and_kept(browser: Browser) -> None:
    agent = agent_with_card(allowed_skills=["gone"])

    html_forms.save(browser, page_of(agent), FORM, name="Renamed")

    assert stored().allowed_skills == ["gone"]
    assert "gone (no longer on the card)" in text_of(browser, page_of(agent))


@pytest.mark.parametrize("stored_skills", [{}, "text", [1]], ids=str)
@pytest.mark.parametrize("card", ["", "nonsense", "[]"])
def test_what_a_fixture_stored_is_no_traceback(
    browser: Browser, stored_skills: Any, card: str
) -> None:
    agent = agent_with_card()
    RemoteAgent.objects.update(allowed_skills=stored_skills, card=card)

    assert browser.get(page_of(agent)).status_code == 200
    assert browser.get(LIST).status_code == 200


def test_groups_are_chosen(browser: Browser) -> None:
    agent, group = agent_with_card(), factories.make_group("insiders")

    html_forms.save(browser, page_of(agent), FORM, allowed_groups=[str(group.pk)])

    assert list(agent.allowed_groups.all()) == [group]


def test_a_group_that_an_agent_allows_is_not_deleted(browser: Browser) -> None:
    """P5."""
    group = factories.make_group("insiders")
    agent_with_card().allowed_groups.add(group)

    response = browser.get(
        reverse("admin:auth_group_delete", args=[group.pk]), follow=True
    )

    [told] = html_forms.sentences(response)
    assert "it is still used by 1 remote agent that allows it." in told


def test_an_agent_with_calls_is_not_deleted(browser: Browser) -> None:
    """P5: the sentence counts them and names switching off."""
    agent = agent_with_card()
    factories.make_remote_call(agent=agent)

    response = browser.get(page_of(agent, "delete"), follow=True)

    [told] = html_forms.sentences(response)
    assert "it is still used by 1 remote call." in told
    assert "Switch it off instead" in told


def test_the_page_takes_as_many_queries_for_many_calls(
    browser: Browser, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    agent = agent_with_card()
    for _ in range(5):
        factories.make_remote_call(agent=agent)

    with django_assert_max_num_queries(9):
        browser.get(page_of(agent))


def test_is_enabled_in_the_list(browser: Browser) -> None:
    agent = agent_with_card(is_enabled=False)

    html_forms.save(browser, LIST, "changelist-form", **{"form-0-is_enabled": "on"})

    assert RemoteAgent.objects.get(pk=agent.pk).is_enabled
    assert stored().card == agent.card


def test_is_not_enabled_in_the_list_before_its_card_is_there(browser: Browser) -> None:
    cards.agent_without_card("https://agent.example/card")

    response = html_forms.save(
        browser, LIST, "changelist-form", **{"form-0-is_enabled": "on"}
    )

    assert "It cannot be enabled: " in html_forms.errors(response)
    assert not stored().is_enabled


# --- Probing --------------------------------------------------------------------------


def test_the_probe_says_what_it_met(browser: Browser, peer: Peer) -> None:
    peer.on("GetTask", scripts.error(-32001))
    agent = factories.make_remote_agent(peer.url)
    shown = text_of(browser, page_of(agent))
    assert not peer.received

    response = browser.post(page_of(agent, "probe"), follow=True)

    [told] = response.context["messages"]
    assert told.level_tag == "success"
    assert "it speaks A2A 1.0" in told.message
    assert f'action="{page_of(agent, "probe")}"' in shown
    assert LogEntry.objects.get().change_message.startswith("Probed. ")


def test_a_probe_that_failed_shows_what_was_answered(
    browser: Browser, peer: Peer
) -> None:
    peer.on("GetTask", scripts.html())

    response = browser.post(
        page_of(factories.make_remote_agent(peer.url), "probe"), follow=True
    )

    failed, detail = response.context["messages"]
    assert failed.level_tag == "error"
    assert "text/html" in detail.message


@pytest.mark.parametrize(
    ("permissions", "status"),
    [([], 403), ([VIEW], 403), ([CHANGE], 403), ([CALL], 403), ([VIEW, CALL], 302)],
    ids=["nothing", "view", "change", "call", "both"],
)
def test_probing_takes_a_permission_of_its_own(
    browser_of: Callable[..., Browser],
    peer: Peer,
    permissions: list[str],
    status: int,
) -> None:
    agent = factories.make_remote_agent(peer.url)

    response = browser_of(*permissions).post(page_of(agent, "probe"))

    assert response.status_code == status
    assert bool(peer.received) is (status == 302)


def test_opening_the_probes_address_asks_nobody(browser: Browser, peer: Peer) -> None:
    agent = factories.make_remote_agent(peer.url)

    assert browser.get(page_of(agent, "probe")).status_code == 405
    assert not peer.received


def test_an_agent_that_is_not_there_is_not_probed(browser: Browser) -> None:
    url = reverse("admin:a2a_client_remoteagent_probe", args=["99"])

    assert browser.post(url).status_code == 404


# --- Who ------------------------------------------------------------------------------


def test_a_stranger_sees_nothing(strange_browser: Browser) -> None:
    """P5."""
    agent = agent_with_card()

    for url in (LIST, ADD, page_of(agent), page_of(agent, "delete")):
        assert strange_browser.get(url).status_code == 403
    assert "remote" not in text_of(strange_browser, reverse("admin:index")).lower()


def test_who_may_only_see_changes_and_asks_nothing(
    browser_of: Callable[..., Browser],
) -> None:
    agent = agent_with_card()
    colleague = browser_of(VIEW)

    page = text_of(colleague, page_of(agent))
    refused = colleague.post(page_of(agent), {"name": "Mine"})

    for button in ("Import the card", "probe_form", "Calls</a>", "new_secret"):
        assert button not in page
    assert refused.status_code == 403
    assert stored().name == agent.name


def test_with_the_role_off_nothing_of_it_is_there(
    browser: Browser, settings: SettingsWrapper, peer: Peer
) -> None:
    """C1."""
    agent = factories.make_remote_agent(peer.url)
    settings.A2A_CLIENT_ENABLED = False

    index = text_of(browser, reverse("admin:index"))
    pages = [LIST, ADD, *(page_of(agent, p) for p in ("change", "import", "delete"))]

    assert "A2A client" not in index.replace("A2A clients", "")
    assert "Remote agents" not in index
    assert [browser.get(url).status_code for url in pages] == [403] * len(pages)
    assert browser.post(page_of(agent, "probe")).status_code == 403
    assert browser.post(page_of(agent, "import"), {"step": "fetch"}).status_code == 403
    app = reverse("admin:app_list", args=["a2a_client"])
    assert browser.get(app).status_code == 404
    assert not peer.received
