from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command

from a2a_server import clients
from a2a_server.models import Task
from agent_runs import clock
from agent_runs.models import AgentRun
from agent_runs.registries import NothingNamed
from tests import factories

pytestmark = pytest.mark.django_db


def test_a_client_is_found_by_name_and_by_id() -> None:
    client = factories.make_client("acme")

    assert clients.named("acme") == client
    assert clients.named(str(client.pk)) == client


@pytest.mark.parametrize("text", ["", "nobody", "999999", "9" * 40, "²", "ACME"])
def test_whom_nobody_knows_is_not_found(text: str) -> None:
    factories.make_client("acme")

    with pytest.raises(NothingNamed):
        clients.named(text)


def test_a_purge_can_be_for_one_client() -> None:
    """R18: `agent_purge --client NAME`; the tasks go with their runs."""
    long_ago = clock.database_now() - timedelta(days=40)
    mine = factories.make_task("completed", now=long_ago)
    other = factories.make_task("completed", now=long_ago)

    out = StringIO()
    call_command("agent_purge", "--client", mine.client.name, "--json", stdout=out)

    deleted = json.loads(out.getvalue())["deleted"]
    assert (deleted["runs"], deleted["tasks"]) == (1, 1)
    assert list(Task.objects.all()) == [other]
    assert list(AgentRun.objects.values_list("id", flat=True)) == [other.run_id]
