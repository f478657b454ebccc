"""Calls as a binding would make them, and what is read from their replies."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from a2a_protocol.errors import ErrorCode, ProtocolError
from a2a_protocol.json_text import load_json
from a2a_protocol.methods import METHODS
from a2a_protocol.proto_json import read
from a2a_server import counters
from a2a_server.models import Task, TaskState
from a2a_server.operations.calls import Call, Caller, Reply, Wait
from a2a_server.operations.table import OPERATIONS
from agent_runs import clock, lifecycle
from agent_runs.contents import Result, RunInput
from agent_runs.effects import Effect
from agent_runs.handlers import PlainHandler, RunContext
from agent_runs.models import RunState
from tests import factories
from tests.settings import BASE_URL

if TYPE_CHECKING:
    from uuid import UUID

    from a2a_server.models import Client
    from agent_runs.lifecycle import Lease
    from agent_runs.waiting import OpenQuestion


class SilentHandler(PlainHandler):
    """Takes text and JSON; nobody calls it in these tests."""

    name: ClassVar[str] = "test.silent"
    label: ClassVar[str] = "Silent"
    input_modes: ClassVar[tuple[str, ...]] = ("text/plain", "application/json")
    effect: ClassVar[Effect] = Effect.READ_ONLY

    def check(self, run_input: RunInput) -> None:
        return

    def run(self, context: RunContext) -> Result:
        raise AssertionError("no segment runs here")


class AnsweringHandler(SilentHandler):
    """Declares that it answers with a plain message (S62)."""

    name: ClassVar[str] = "test.answering"
    answers_with_message: ClassVar[bool] = True


def caller_of(client: Client) -> Caller:
    return Caller(
        client_id=client.pk,
        client_name=client.name,
        technical_user_id=client.technical_user_id,
        workspace_id=client.workspace_id,
        task_limit=client.task_limit,
    )


def make_call(
    client: Client,
    method: str,
    params: dict[str, Any] | None = None,
    *,
    base_url: str = BASE_URL,
) -> Call:
    return Call(
        caller=caller_of(client),
        method=method,
        params=params or {},
        request_id="test-request",
        base_url=base_url,
    )


def perform(
    client: Client, method: str, params: dict[str, Any] | None = None, **values: Any
) -> Reply | Wait:
    return OPERATIONS[method](make_call(client, method, params, **values))


def result_of(
    client: Client, method: str, params: dict[str, Any] | None = None, **values: Any
) -> Any:
    """The result as JSON, which `a2a_protocol` reads as the method's response too."""
    outcome = perform(client, method, params, **values)
    assert isinstance(outcome, Reply)
    response_type = METHODS[method].response_type
    assert response_type
    read(response_type, load_json(outcome.result_json.encode()))
    return json.loads(outcome.result_json)


def refusal_of(
    client: Client, method: str, params: dict[str, Any] | None = None, **values: Any
) -> ProtocolError:
    with pytest.raises(ProtocolError) as caught:
        perform(client, method, params, **values)
    return caught.value


def assert_invalid(error: ProtocolError, field: str) -> None:
    assert error.code is ErrorCode.INVALID_PARAMS
    assert [violation.field for violation in error.violations] == [field]


def make_message(text: str = "hi", **members: Any) -> dict[str, Any]:
    defaults: dict[str, Any] = {
        "messageId": str(uuid.uuid4()),
        "role": "ROLE_USER",
        "parts": [{"text": text}],
    }
    return defaults | members


def make_params(
    message: dict[str, Any] | None = None, *, immediate: bool = True, **members: Any
) -> dict[str, Any]:
    """SendMessage's params; `immediate` asks not to wait."""
    configuration = {"returnImmediately": immediate} | members.pop("configuration", {})
    message = make_message() if message is None else message
    return {"message": message, "configuration": configuration} | members


def send(client: Client, text: str = "hi", **members: Any) -> dict[str, Any]:
    """A new task of the client's only skill, as the wire shows it."""
    params = make_params(make_message(text, **members))
    task: dict[str, Any] = result_of(client, "SendMessage", params)["task"]
    return task


def read_task(client: Client, task_id: UUID | str) -> dict[str, Any]:
    task: dict[str, Any] = result_of(client, "GetTask", {"id": str(task_id)})
    return task


def claim(task: Task | dict[str, Any]) -> Lease:
    """Begin a segment of the task's run, as a worker would."""
    task_id = task["id"] if isinstance(task, dict) else task.pk
    run_id = Task.objects.values_list("run_id", flat=True).get(pk=task_id)
    lease = lifecycle.claim(run_id, owner="test", now=clock.database_now())
    assert lease
    return lease


def complete(lease: Lease, *, result: Result | None = None) -> None:
    now = clock.database_now()
    assert lifecycle.complete(
        lease, result=result or Result(), truncated=False, now=now
    )


def ask(task: Task | dict[str, Any], asked: OpenQuestion | None = None) -> OpenQuestion:
    """Let the task's run wait with a question, as a worker would."""
    asked = asked or factories.make_question("Which colour?", "red", "blue")
    lease, now = claim(task), clock.database_now()
    assert lifecycle.suspend(lease, RunState.WAITING_FOR_INPUT, waiting=asked, now=now)
    return asked


def make_answer(
    task: Task | dict[str, Any], text: str = "red", **members: Any
) -> dict[str, Any]:
    """A message to the task."""
    task_id = task["id"] if isinstance(task, dict) else str(task.pk)
    return make_message(text, **{"taskId": task_id} | members)


def make_task(state: str = TaskState.SUBMITTED, **values: Any) -> Task:
    """A task of the context «c», in any state, that its client's counters know."""
    task = factories.make_task(state, **{"context_id": "c"} | values)
    counters.add(task.client_id, state)
    return task
