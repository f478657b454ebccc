from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import reverse

from agent_runs import workspaces
from agent_runs.models import Workspace
from tests import factories, html_forms
from tests.agent_runs import drafts

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.test import Client as Browser
    from pytest_django import DjangoAssertNumQueries
    from pytest_django.fixtures import SettingsWrapper

LIST = reverse("admin:agent_runs_workspace_changelist")


def test_adds_a_workspace_with_members(browser: Browser, colleague: User) -> None:
    """T15."""
    url = reverse("admin:agent_runs_workspace_add")

    html_forms.save(
        browser, url, "workspace_form", name="Drafts", members=[str(colleague.pk)]
    )

    assert list(Workspace.objects.get().members.all()) == [colleague]


def test_the_list_counts_members(
    browser: Browser, owner: User, colleague: User
) -> None:
    factories.make_workspace().members.add(owner, colleague)

    text = browser.get(LIST).content.decode()

    assert '<td class="field-people">2</td>' in text


def test_a_workspace_of_clients_and_runs_stays(browser: Browser) -> None:
    """P5."""
    workspace = factories.make_workspace("Drafts")
    factories.make_client(workspace=workspace)
    factories.make_run(workspace=workspace)
    url = reverse("admin:agent_runs_workspace_delete", args=[workspace.pk])

    page = browser.post(url, {"post": "yes"}, follow=True)

    assert html_forms.sentences(page)[0].startswith(
        "«Drafts» is not deleted: it is still used by 1 run and 1 A2A client."
    )


def test_counts_open_drafts_and_leads_to_them(
    browser: Browser, owner: User, colleague: User, settings: SettingsWrapper
) -> None:
    """T15: one that was decided is not open, and members do not multiply it."""
    drafts.allow(settings)
    run = drafts.make_run()
    assert run.workspace
    run.workspace.members.add(owner, colleague)
    drafts.make_draft(run)
    workspaces.discard(drafts.make_draft(run).pk, user=drafts.publisher())
    url = reverse("admin:agent_runs_workspace_change", args=[run.workspace.pk])

    pages = [browser.get(page).content.decode() for page in (LIST, url)]

    link = f'/admin/agent_runs/draft/?workspace={run.workspace.pk}">1</a>'
    assert all(link in text for text in pages)


def test_a_workspace_with_drafts_stays(
    browser: Browser, settings: SettingsWrapper
) -> None:
    """T15, P5: also when the runs are gone."""
    drafts.allow(settings)
    draft = drafts.make_draft()
    assert draft.run
    draft.run.delete()
    url = reverse("admin:agent_runs_workspace_delete", args=[draft.workspace.pk])

    page = browser.post(url, {"post": "yes"}, follow=True)

    told = html_forms.sentences(page)[0]
    assert "is not deleted: it is still used by 1 draft." in told
    assert Workspace.objects.filter(pk=draft.workspace.pk).exists()


def test_the_list_asks_the_same_queries_for_many(
    browser: Browser, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(20):
        factories.make_workspace()

    with django_assert_max_num_queries(6):
        browser.get(LIST)
