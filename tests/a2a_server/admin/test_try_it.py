from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client as Browser
from django.urls import reverse

from a2a_server.models import Client, Profile
from agent_runs import clock
from agent_runs.contents import load_input
from agent_runs.models import AgentRun, RunState
from tests import factories, html_forms

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.contrib.auth.models import User
    from pytest_django import DjangoAssertNumQueries

TRY = "a2a_server.try_profile"
VIEW = "a2a_server.view_profile"


@pytest.fixture
def profile(db: None) -> Profile:
    return factories.make_profile(is_public=False, examples=["Sum up: …"])


@pytest.fixture
def partner(profile: Profile) -> Client:
    return factories.make_client("partner", profiles=[profile])


def page_of(profile: Profile, page: str = "try") -> str:
    return reverse(f"admin:a2a_server_profile_{page}", args=[profile.pk])


def press(browser: Browser, partner: Client, **changes: Any) -> Any:
    """Choose the client on the page of its skill, and press the button."""
    profile = partner.profiles.get()
    changes = {"client": str(partner.pk)} | changes
    return html_forms.save(browser, page_of(profile), "try_form", **changes)


def test_starts_a_run_and_shows_it(
    browser: Browser, superuser: User, partner: Client
) -> None:
    """O2, T12: without a task; who pressed the button is its starter."""
    response = press(browser, partner, text="One.\r\nTwo.")

    run = AgentRun.objects.get()
    page = reverse("admin:agent_runs_agentrun_change", args=[run.pk])
    assert response.redirect_chain == [(page, 302)]
    assert load_input(run.request).text == "One.\nTwo."
    assert (run.owner, run.starter) == (partner.technical_user, superuser)
    assert LogEntry.objects.get().user == superuser


def test_says_when_nobody_works(browser: Browser, partner: Client) -> None:
    """O2: before and after, but the run is started."""
    page = browser.get(page_of(partner.profiles.get()))
    told = html_forms.sentences(press(browser, partner))

    assert "No worker runs" in page.content.decode()
    assert "No worker runs" in told[-1]
    assert AgentRun.objects.get().state == RunState.QUEUED


@pytest.mark.usefixtures("worker")
def test_says_nothing_of_workers_that_work(browser: Browser, partner: Client) -> None:
    told = html_forms.sentences(press(browser, partner))

    run = AgentRun.objects.get()
    assert told == [f"Run {run.pk} was started as «partner»."]


def test_the_profile_leads_to_it(browser: Browser, profile: Profile) -> None:
    page = browser.get(page_of(profile, "change"))

    assert f'href="{page_of(profile)}"' in page.content.decode()


def test_an_example_of_the_card_stands_there_already(
    browser: Browser, partner: Client
) -> None:
    press(browser, partner)

    assert load_input(AgentRun.objects.get().request).text == "Sum up: …"


@pytest.mark.parametrize("examples", [[], {}, "text", [1]], ids=str)
def test_examples_that_are_no_list_are_no_traceback(
    browser: Browser, partner: Client, examples: Any
) -> None:
    Profile.objects.update(examples=examples)

    assert browser.get(page_of(partner.profiles.get())).status_code == 200


def test_a_skill_that_no_client_may_call_says_so(
    browser: Browser, profile: Profile
) -> None:
    factories.make_client("elsewhere")

    page = browser.get(page_of(profile)).content.decode()

    assert "No client may call this skill yet" in page
    assert "elsewhere" not in page
    assert "try_form" not in page


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"text": " \r\n "}, "This field is required."),
        ({"text": "a\x00b"}, "Null characters are not allowed."),
        ({"text": "a" * 100_001}, "at most 100000 characters"),
        ({"client": ""}, "This field is required."),
        ({"client": "99999"}, "not one of the available choices"),
        ({"client": "x"}, "not one of the available choices"),
    ],
    ids=["blank", "zero", "long", "nobody", "unknown", "nonsense"],
)
def test_a_mistake_is_told_at_its_field(
    browser: Browser, partner: Client, changes: dict[str, str], sentence: str
) -> None:
    response = press(browser, partner, **changes)

    assert sentence in response.content.decode()
    assert not AgentRun.objects.exists()


def test_a_client_of_another_skill_cannot_be_chosen(
    browser: Browser, partner: Client
) -> None:
    stranger = factories.make_client(profiles=[factories.make_profile()])

    response = press(browser, partner, client=str(stranger.pk))

    assert "not one of the available choices" in response.content.decode()
    assert not AgentRun.objects.exists()


def test_a_refusal_stands_above_the_form_and_keeps_the_text(
    browser: Browser, partner: Client
) -> None:
    Client.objects.update(
        is_enabled=False, expires_at=clock.database_now() - timedelta(days=1)
    )

    response = press(browser, partner, text="<b>keep me</b>")

    page = response.content.decode()
    assert "The client «partner» is not enabled." in page
    assert "The client «partner» has expired." in page
    assert "&lt;b&gt;keep me&lt;/b&gt;" in page
    assert not AgentRun.objects.exists()


@pytest.mark.parametrize(
    ("permissions", "status"),
    [([], 403), ([VIEW], 403), ([TRY], 403), ([VIEW, TRY], 200)],
    ids=["nothing", "sees profiles", "may try", "both"],
)
def test_trying_takes_a_permission_of_its_own(
    browser_of: Callable[..., Browser],
    partner: Client,
    permissions: list[str],
    status: int,
) -> None:
    """O2, P5: for the page and for what it does."""
    browser = browser_of(*permissions)
    url = page_of(partner.profiles.get())
    sent = {"client": str(partner.pk), "text": "hi"}

    shown, done = browser.get(url), browser.post(url, sent)

    assert shown.status_code == status
    assert (done.status_code == 302) is (status == 200)
    assert AgentRun.objects.exists() is (status == 200)


def test_who_may_not_try_sees_no_button(
    browser_of: Callable[..., Browser], profile: Profile
) -> None:
    page = browser_of(VIEW).get(page_of(profile, "change")).content.decode()

    assert "Try it" not in page


def test_who_may_not_see_runs_comes_back_with_its_id(
    browser_of: Callable[..., Browser], partner: Client
) -> None:
    response = press(browser_of(VIEW, TRY), partner)

    assert response.redirect_chain == [(page_of(partner.profiles.get()), 302)]
    assert str(AgentRun.objects.get().pk) in html_forms.sentences(response)[0]


def test_an_anonymous_visitor_is_sent_to_the_login(
    client: Browser, partner: Client
) -> None:
    url = page_of(partner.profiles.get())

    response = client.post(url, {"client": str(partner.pk), "text": "hi"})

    assert response.status_code == 302
    assert response["Location"].startswith(reverse("admin:login"))
    assert not AgentRun.objects.exists()


@pytest.mark.parametrize("key", ["99999", "x", "_5F"])
def test_a_profile_that_is_not_there_is_no_traceback(
    browser: Browser, key: str
) -> None:
    response = browser.get(f"/admin/a2a_server/profile/{key}/try/", follow=True)

    assert response.status_code == 200
    assert "exist" in html_forms.sentences(response)[0]


def test_another_method_is_refused(browser: Browser, profile: Profile) -> None:
    assert browser.put(page_of(profile)).status_code == 405


def test_a_forged_request_starts_nothing(superuser: User, partner: Client) -> None:
    """What the button posts holds a token of the page."""
    browser = Browser(enforce_csrf_checks=True)
    browser.force_login(superuser)
    url = page_of(partner.profiles.get())

    response = browser.post(url, {"client": str(partner.pk), "text": "hi"})

    assert response.status_code == 403
    assert not AgentRun.objects.exists()


def test_a_client_that_was_tried_is_not_deleted(
    browser: Browser, partner: Client
) -> None:
    """P5: as long as the run is kept."""
    press(browser, partner)
    page = reverse("admin:a2a_server_client_delete", args=[partner.pk])

    told = html_forms.sentences(browser.post(page, {"post": "yes"}, follow=True))

    assert "still used by 1 trial." in told[-1]
    assert Client.objects.exists()


def test_the_page_takes_the_same_queries_for_many_clients(
    browser: Browser, partner: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    profile = partner.profiles.get()
    browser.get(page_of(profile))
    for _ in range(3):
        factories.make_client(profiles=[profile])

    # Session, user, profile, clients twice, clock and worker.
    with django_assert_num_queries(7):
        browser.get(page_of(profile))
