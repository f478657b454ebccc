"""The factories make records that the database's own rules accept."""

from __future__ import annotations

import pytest

from a2a_protocol import proto_json, types
from a2a_protocol.json_text import load_json
from a2a_server.models import TaskState
from agent_runs.models import RunState
from tests import factories


@pytest.mark.django_db
@pytest.mark.parametrize("state", RunState.values)
def test_makes_a_run_in_every_state(state: str) -> None:
    run = factories.make_run(state)

    assert run.state == state


@pytest.mark.django_db
@pytest.mark.parametrize(
    "state", [state for state in TaskState.values if state != "auth_required"]
)
def test_makes_a_task_in_every_state(state: str) -> None:
    task = factories.make_task(state)

    assert task.client.technical_user == task.run.owner


@pytest.mark.django_db
def test_the_document_of_a_task_reads_back() -> None:
    task = factories.make_task("working", context_id="conversation")

    read = proto_json.read(types.Task, load_json(task.head.encode()))

    assert (read.id, read.context_id) == (str(task.pk), "conversation")
    assert read.status.state == types.TaskState.TASK_STATE_WORKING


@pytest.mark.django_db
def test_tells_the_token_of_a_client() -> None:
    client = factories.make_client("caller")

    assert factories.token_of(client).digest == client.token_hash
