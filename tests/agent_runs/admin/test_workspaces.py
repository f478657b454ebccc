from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import reverse

from agent_runs.models import Workspace
from tests import factories, html_forms

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.test import Client as Browser

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
