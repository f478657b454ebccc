"""What a message and its run cost, from the send to the end, in statements."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from a2a_server.models import Profile, Task, TaskState
from agent_runs import engine, handlers
from agent_runs.contents import Result, text_output
from tests.a2a_server.calling import SilentHandler, send

if TYPE_CHECKING:
    from a2a_server.models import Client
    from agent_runs.handlers import RunContext

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("worker"),
]

CLOCK = "SELECT the time"
CLAIM = [
    "BEGIN",
    "UPDATE agent_runs_agentrun",
    "SELECT a2a_server_task",
    "UPDATE a2a_server_task",
    "INSERT a2a_server_taskevent",
    "UPDATE a2a_server_taskcounter",
    "UPDATE a2a_server_taskcounter",
    "COMMIT",
]
WORK = ["SELECT agent_runs_agentrun", "SELECT a2a_server_task"]
COMPLETE = [
    "BEGIN",
    "UPDATE agent_runs_agentrun",
    "INSERT agent_runs_agentrunevent",
    "SELECT a2a_server_task",
    "UPDATE a2a_server_task",
    "INSERT a2a_server_taskevent",
    "INSERT a2a_server_taskevent",
    "UPDATE a2a_server_taskcounter",
    "UPDATE a2a_server_taskcounter",
    "COMMIT",
]


DECIDE = [
    "SELECT a2a_server_taskmessage",
    "SELECT a2a_server_profile",
    CLOCK,
    "SELECT agent_runs_workerheartbeat",
]
STORE = [
    "BEGIN",
    "SELECT a2a_server_client",
    "INSERT a2a_server_taskmessage",
    "SELECT a2a_server_task",
    "INSERT agent_runs_agentrun",
    "INSERT agent_runs_agentrunevent",
    "INSERT a2a_server_task",
    "INSERT a2a_server_taskevent",
    "UPDATE a2a_server_taskcounter",
    "COMMIT",
]


class EchoingHandler(SilentHandler):
    name: ClassVar[str] = "test.echoing"

    def run(self, context: RunContext) -> Result:
        return Result(outputs=(text_output(context.input.text),))


def _kind(sql: str) -> str:
    """The verb of a statement and the first table that it names."""
    verb = sql.split()[0]
    table = re.search(r'"(\w+)"', sql)
    if table:
        return f"{verb} {table[1]}"
    return CLOCK if verb == "SELECT" else verb


def test_a_message_takes_these_statements_and_no_other(partner: Client) -> None:
    """S48: with the locks, and the count after them."""
    send(partner)

    with CaptureQueriesContext(connection) as queries:
        send(partner)

    assert [_kind(query["sql"]) for query in queries] == [*DECIDE, *STORE]


def test_a_plain_run_takes_these_statements_and_no_other(partner: Client) -> None:
    """R2, S60: one more of them is paid by every run."""
    handlers.register(EchoingHandler())
    Profile.objects.update(handler=EchoingHandler.name)
    send(partner)
    task = Task.objects.get()

    with CaptureQueriesContext(connection) as queries:
        assert engine.execute(task.run_id)

    task.refresh_from_db()
    assert task.state == TaskState.COMPLETED
    asked = [_kind(query["sql"]) for query in queries]
    assert asked == [CLOCK, *CLAIM, *WORK, CLOCK, *COMPLETE]
