"""O2: a run's page leads to what remote agents did for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.test import Client
from django.urls import reverse

from a2a_client import handovers
from a2a_client.models import CallState
from tests import factories

if TYPE_CHECKING:
    from pytest_django.fixtures import SettingsWrapper

    from a2a_client.models import RemoteCall
    from agent_runs.models import AgentRun

pytestmark = pytest.mark.django_db

RUNS = "agent_runs.view_agentrun"
CALLS = "a2a_client.view_remotecall"


def run_with_call(state: str = CallState.WORKING) -> tuple[AgentRun, RemoteCall]:
    run = factories.make_run()
    agent = factories.make_remote_agent(name="Desk <1>")
    return run, factories.make_remote_call(state, run=run, agent=agent)


def page_of(run: AgentRun, *permissions: str) -> str:
    browser = Client()
    user = factories.make_user(is_staff=True, permissions=permissions)
    browser.force_login(user)
    url = reverse("admin:agent_runs_agentrun_change", args=[run.pk])
    return browser.get(url).content.decode()


def test_a_run_leads_to_its_remote_calls() -> None:
    run, call = run_with_call()

    page = page_of(run, RUNS, CALLS)

    url = reverse("admin:a2a_client_remotecall_change", args=[call.pk])
    assert f'<a href="{url}">Desk &lt;1&gt;: The agent works</a>' in page


def test_names_no_agent_to_whoever_may_not_see_calls() -> None:
    run, _ = run_with_call()

    assert "Desk" not in page_of(run, RUNS)


def test_other_runs_have_others() -> None:
    run_with_call()

    assert "Desk" not in page_of(factories.make_run(), RUNS, CALLS)


def test_with_the_role_off_there_are_none(settings: SettingsWrapper) -> None:
    """C1."""
    run, _ = run_with_call()
    looker = factories.make_user(permissions=[CALLS])
    assert handovers.of_run(run.pk, looker)

    settings.A2A_CLIENT_ENABLED = False

    assert handovers.of_run(run.pk, looker) == []
