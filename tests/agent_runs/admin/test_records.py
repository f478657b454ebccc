"""What every page of configuration records does; P5 and P6 on the pages themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models.signals import post_save
from django.urls import reverse

from a2a_server.models import Profile
from agent_runs.models import AnswerLevel, LLMConfiguration, Provider, Workspace
from tests import factories, html_forms

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test import Client as Browser
    from pytest_django import DjangoAssertNumQueries

PROVIDERS = reverse("admin:agent_runs_provider_changelist")
CONFIGURATIONS = reverse("admin:agent_runs_llmconfiguration_changelist")


def page_of(record: Any, page: str = "change") -> str:
    opts = record._meta
    return reverse(f"admin:{opts.app_label}_{opts.model_name}_{page}", args=[record.pk])


# --- Telling what a save took ---------------------------------------------------------


def test_a_list_edit_says_which_skills_are_no_longer_offered(browser: Browser) -> None:
    """P6: through `list_editable`."""
    provider = factories.make_provider()
    configuration = factories.make_configuration(provider=provider)
    factories.make_profile("summary", configuration=configuration)

    page = html_forms.save(
        browser,
        PROVIDERS,
        "changelist-form",
        **{"form-0-answer_level": AnswerLevel.NONE},
    )

    provider.refresh_from_db()
    assert provider.answer_level == AnswerLevel.NONE
    assert "No longer offered: Summary (summary)." in html_forms.sentences(page)


def test_a_form_says_which_skills_are_no_longer_offered(browser: Browser) -> None:
    """P6: through the page of one record."""
    configuration = factories.make_profile("summary").configuration

    page = html_forms.save(
        browser, page_of(configuration), "llmconfiguration_form", is_active=None
    )

    configuration.refresh_from_db()
    assert not configuration.is_active
    assert "No longer offered: Summary (summary)." in html_forms.sentences(page)


def test_a_save_that_takes_nothing_says_nothing(browser: Browser) -> None:
    provider = factories.make_profile().configuration.provider

    page = html_forms.save(browser, page_of(provider), "provider_form", name="Other")

    assert [s for s in html_forms.sentences(page) if "offered" in s] == []


def test_a_name_that_changes_takes_nothing(browser: Browser) -> None:
    """P6."""
    profile = factories.make_profile("summary")
    factories.make_client(profiles=[profile])

    page = html_forms.save(browser, page_of(profile), "profile_form", name="Other")

    told = html_forms.sentences(page)
    assert [s for s in told if "offered" in s or "may no longer" in s] == []


def test_another_group_says_which_client_it_takes_the_skill_from(
    browser: Browser,
) -> None:
    """P6: a configuration that is narrowed to a group that a technical user is not in."""
    group = factories.make_group()
    profile = factories.make_profile("summary")
    outsider, insider = factories.make_user(), factories.make_user()
    insider.groups.add(group)
    factories.make_client("outside", profiles=[profile], technical_user=outsider)
    factories.make_client("inside", profiles=[profile], technical_user=insider)

    page = html_forms.save(
        browser,
        page_of(profile.configuration),
        "llmconfiguration_form",
        allowed_groups=[str(group.pk)],
    )

    told = html_forms.sentences(page)
    assert "«outside» may no longer call: Summary (summary)." in told
    assert not any("«inside»" in sentence for sentence in told)


# --- Deleting -------------------------------------------------------------------------


def test_a_record_in_use_is_not_deleted_from_its_page(browser: Browser) -> None:
    """P5: the sentence counts and names the way."""
    provider = factories.make_provider(name="Used")
    factories.make_configuration(provider=provider)
    factories.make_configuration(provider=provider)

    page = browser.post(page_of(provider, "delete"), {"post": "yes"}, follow=True)

    assert Provider.objects.filter(pk=provider.pk).exists()
    assert html_forms.sentences(page) == [
        "«Used» is not deleted: it is still used by 2 LLM configurations. Switch it off "
        "instead: clear «active» and save."
    ]


def test_a_record_in_use_is_refused_before_anybody_confirms(browser: Browser) -> None:
    """P5."""
    provider = factories.make_configuration().provider

    page = browser.get(page_of(provider, "delete"), follow=True)

    assert page.redirect_chain
    assert "1 LLM configuration." in html_forms.sentences(page)[0]


def test_runs_count_as_users_of_a_configuration(browser: Browser) -> None:
    """P5."""
    configuration = factories.make_profile().configuration
    factories.make_run(configuration=configuration)

    page = browser.get(page_of(configuration, "delete"), follow=True)

    assert "1 run and 1 publication profile." in html_forms.sentences(page)[0]


def test_the_action_refuses_all_when_one_is_in_use(browser: Browser) -> None:
    """P5."""
    used = factories.make_configuration().provider
    free = factories.make_provider()

    page = browser.post(
        PROVIDERS,
        {"action": "delete_selected", "_selected_action": [used.pk, free.pk]},
        follow=True,
    )

    assert Provider.objects.count() == 2
    assert f"«{used}» is not deleted" in html_forms.sentences(page)[0]


def test_the_action_deletes_what_nobody_uses(browser: Browser) -> None:
    free = factories.make_provider()
    chosen = {"action": "delete_selected", "_selected_action": [free.pk]}

    browser.post(PROVIDERS, chosen)
    browser.post(PROVIDERS, chosen | {"post": "yes"})

    assert not Provider.objects.exists()


def test_a_page_deletes_what_nobody_uses(browser: Browser) -> None:
    workspace = factories.make_workspace()

    browser.post(page_of(workspace, "delete"), {"post": "yes"})

    assert not Workspace.objects.exists()


def _use_when_logged(provider: Provider) -> Callable[..., None]:
    """Somebody begins to use the provider after the page looked (the log comes first)."""

    def receiver(**_: Any) -> None:
        factories.make_configuration(provider=provider)

    return receiver


@pytest.mark.parametrize("way", ["page", "action"])
def test_a_record_that_somebody_just_began_to_use_stays(
    browser: Browser, way: str
) -> None:
    """P5: the database refuses, and that is no traceback."""
    provider = factories.make_provider()
    action = {"action": "delete_selected", "_selected_action": [provider.pk]}
    url = page_of(provider, "delete") if way == "page" else PROVIDERS
    receiver = _use_when_logged(provider)
    post_save.connect(receiver, sender=LogEntry)

    try:
        page = browser.post(url, {"post": "yes"} | action, follow=True)
    finally:
        post_save.disconnect(receiver, sender=LogEntry)

    assert Provider.objects.filter(pk=provider.pk).exists()
    assert html_forms.sentences(page)[0].startswith("Nothing was deleted.")


@pytest.mark.parametrize(
    "key", ["no-uuid", "00000000-0000-0000-0000-000000000000", "1"]
)
def test_an_unknown_record_is_no_traceback(browser: Browser, key: str) -> None:
    url = reverse("admin:agent_runs_provider_delete", args=[key])

    page = browser.get(url, follow=True)

    assert "doesn’t exist" in html_forms.sentences(page)[0]


# --- Who ------------------------------------------------------------------------------

RECORDS = [
    pytest.param("agent_runs", "provider", id="providers"),
    pytest.param("agent_runs", "llmconfiguration", id="configurations"),
    pytest.param("agent_runs", "workspace", id="workspaces"),
    pytest.param("a2a_server", "profile", id="profiles"),
    pytest.param("a2a_server", "client", id="clients"),
]


@pytest.mark.parametrize(("app", "model"), RECORDS)
@pytest.mark.parametrize("page", ["changelist", "add"])
def test_staff_without_permission_sees_nothing(
    strange_browser: Browser, app: str, model: str, page: str
) -> None:
    """P5."""
    assert (
        strange_browser.get(reverse(f"admin:{app}_{model}_{page}")).status_code == 403
    )


@pytest.mark.parametrize(("app", "model"), RECORDS)
def test_a_superuser_sees_empty_lists_that_say_what_to_do(
    browser: Browser, app: str, model: str
) -> None:
    page = browser.get(reverse(f"admin:{app}_{model}_changelist"))

    assert page.status_code == 200
    hint = page.context["empty_list_hint"]
    assert hint
    assert hint in page.content.decode().replace("&#x27;", "'")


@pytest.mark.parametrize(("app", "model"), RECORDS)
def test_staff_with_the_view_permission_may_look_only(
    browser_of: Callable[..., Browser], app: str, model: str
) -> None:
    """P5: delegated through the normal permissions."""
    browser = browser_of(f"{app}.view_{model}")

    assert browser.get(reverse(f"admin:{app}_{model}_changelist")).status_code == 200
    assert browser.get(reverse(f"admin:{app}_{model}_add")).status_code == 403


def test_looking_shows_the_page_of_each_record(
    browser_of: Callable[..., Browser],
) -> None:
    """P5: a page without a form has nothing to fail with."""
    profile = factories.make_profile()
    records = [
        profile,
        profile.configuration,
        profile.configuration.provider,
        factories.make_client(profiles=[profile]),
        factories.make_workspace(),
    ]
    browser = browser_of(
        *(f"{r._meta.app_label}.view_{r._meta.model_name}" for r in records)
    )

    statuses = [browser.get(page_of(record)).status_code for record in records]

    assert statuses == [200] * 5


def test_a_delegate_can_change_what_was_delegated(
    browser_of: Callable[..., Browser],
) -> None:
    """P5."""
    provider = factories.make_provider()
    browser = browser_of("agent_runs.view_provider", "agent_runs.change_provider")

    html_forms.save(browser, page_of(provider), "provider_form", name="Renamed")

    provider.refresh_from_db()
    assert provider.name == "Renamed"
    assert browser.get(page_of(provider, "delete")).status_code == 403


# --- How many queries -----------------------------------------------------------------

# Session, user, two counts, the rows, and what a filter or a column reads once.
LIST_QUERIES = {
    "agent_runs_provider": 5,
    "agent_runs_llmconfiguration": 6,
    "agent_runs_workspace": 5,
    "a2a_server_profile": 5,
    "a2a_server_client": 7,
}


@pytest.mark.parametrize("name", LIST_QUERIES)
def test_a_list_asks_no_query_a_row(
    browser: Browser,
    django_assert_max_num_queries: DjangoAssertNumQueries,
    name: str,
) -> None:
    for _ in range(20):
        factories.make_client(
            profiles=[factories.make_profile(), factories.make_profile()],
            workspace=factories.make_workspace(),
        )

    with django_assert_max_num_queries(LIST_QUERIES[name]):
        page = browser.get(reverse(f"admin:{name}_changelist"))

    assert page.status_code == 200


def test_a_list_edit_asks_only_for_the_rows_that_changed(
    browser: Browser, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(20):
        factories.make_profile()
    url = reverse("admin:a2a_server_profile_changelist")
    values = html_forms.values_of(browser.get(url), "changelist-form")
    del values["form-3-is_public"]

    # Django looks up the key of each row; the rules are asked for one row only.
    with django_assert_max_num_queries(20 + 18):
        browser.post(url, values | {"_save": "Save"})

    assert Profile.objects.filter(is_public=False).count() == 1


def test_names_of_every_record_lead_to_its_page(browser: Browser) -> None:
    configuration = factories.make_configuration()

    page = browser.get(CONFIGURATIONS)

    assert page_of(configuration) in page.content.decode()
    assert LLMConfiguration.objects.count() == 1
