"""Parameters that nobody's browser sends by itself (O2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.urls import reverse

from tests import factories

if TYPE_CHECKING:
    from django.test import Client as Browser

# Each list with one of its actions.
LISTS = {
    "agent_runs_provider": "delete_selected",
    "agent_runs_llmconfiguration": "delete_selected",
    "agent_runs_workspace": "delete_selected",
    "agent_runs_agentrun": "cancel_selected",
    "a2a_server_client": "revoke_selected",
    "a2a_server_profile": "delete_selected",
    "a2a_server_task": "cancel_selected",
    "auth_group": "delete_selected",
}
CLIENTS = reverse("admin:a2a_server_client_changelist")


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("chosen", ["\0", "a", "1.5", ""])
def test_an_action_on_a_row_that_cannot_be_is_refused(
    browser: Browser, name: str, chosen: str
) -> None:
    factories.make_task()
    form = {"action": LISTS[name], "_selected_action": chosen}

    page = browser.post(reverse(f"admin:{name}_changelist"), form)

    assert page.status_code == 400


@pytest.mark.parametrize("value", ["a", "1.2.3.4.5", "-1"])
@pytest.mark.parametrize("lookup", ["exact", "in"])
def test_a_value_that_the_database_does_not_take_leads_to_the_whole_list(
    browser: Browser, lookup: str, value: str
) -> None:
    """As Django answers other values that do not fit their column."""
    client = factories.make_client(last_used_from="127.0.0.1")

    page = browser.get(CLIENTS, {f"last_used_from__{lookup}": value}, follow=True)

    assert page.status_code == 200
    # SQLite keeps addresses as texts and finds no such one.
    assert page.redirect_chain in ([], [(f"{CLIENTS}?e=1", 302)])
    assert list(page.context["cl"].result_list) == (
        [client] if page.redirect_chain else []
    )
