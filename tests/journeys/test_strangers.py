"""What a client learns of tasks that are not its own: nothing (S64, B089)."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pytest

from tests import peer as peers

if TYPE_CHECKING:
    from tests.asgi_peer import Answer
    from tests.drill.stand import Stand

pytestmark = pytest.mark.services

KINDS = ("foreign", "foreign and ended", "purged", "unknown")
# What differs from answer to answer whatever was asked.
_VOLATILE = {"date", "x-request-id"}


def _parameters(method: str, task_id: str) -> dict[str, Any]:
    if method == "SendMessage":
        message_id = str(uuid.uuid4())
        return peers.send_params("more", message_id=message_id, taskId=task_id)
    return {"id": task_id}


def _without_the_id(answer: Answer, task_id: str) -> tuple[object, ...]:
    headers = {k: v for k, v in answer.headers.items() if k not in _VOLATILE}
    return answer.status, headers, answer.body.replace(task_id.encode(), b"THE-ID")


@pytest.fixture(scope="module")
def task_ids(quiet: Stand) -> dict[str, str]:
    """One of each kind, as seen by the client «stranger»."""
    names = ("owner", "stranger", "namesake")
    clients = {name: {"skills": ["shared"]} for name in names}
    quiet.make_records({"shared": {"handler": "drill.read_only"}}, clients)
    quiet.gate.open_for_all()
    quiet.pretend_a_worker()
    ended = quiet.peer("owner").start("ended")
    purged = quiet.peer("stranger").start("purged")
    quiet.site.manage("agent_work")
    quiet.site.manage("agent_purge", "--days", "0", "--client", "stranger")
    return {
        "foreign": quiet.peer("owner").start("foreign"),
        "foreign and ended": ended,
        "purged": purged,
        "unknown": str(uuid.uuid4()),
    }


@pytest.mark.parametrize("method", ["GetTask", "CancelTask", "SendMessage"])
def test_foreign_purged_and_unknown_read_the_same(
    quiet: Stand, task_ids: dict[str, str], method: str
) -> None:
    """S64: byte for byte, but for the id."""
    stranger = quiet.peer("stranger")
    answers = set()

    for kind in KINDS:
        task_id = task_ids[kind]
        parameters = _parameters(method, task_id)
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        status, headers, body = _without_the_id(stranger.post(request), task_id)
        answers.add((status, repr(headers), body))

    ((status, _, body),) = answers
    assert status == 200
    assert b"-32001" in body


def test_lists_show_own_tasks_only(quiet: Stand, task_ids: dict[str, str]) -> None:
    """S64, S65: a foreign context is an empty list, not a refusal."""
    owner, stranger = quiet.peer("owner"), quiet.peer("stranger")
    context_id = owner.task(task_ids["foreign"])["contextId"]

    everything = peers.result_of(stranger.call("ListTasks", {}))
    context = peers.result_of(stranger.call("ListTasks", {"contextId": context_id}))
    own = peers.result_of(owner.call("ListTasks", {}))

    assert (everything["tasks"], everything["totalSize"]) == ([], 0)
    assert (context["tasks"], context["totalSize"]) == ([], 0)
    assert {task["id"] for task in own["tasks"]} == {
        task_ids["foreign"],
        task_ids["foreign and ended"],
    }


def test_a_foreign_message_id_is_free(quiet: Stand, task_ids: dict[str, str]) -> None:
    """S47: a message id means something for one client alone."""
    owner, namesake = quiet.peer("owner"), quiet.peer("namesake")
    foreign = owner.task(task_ids["foreign"])
    message_id = foreign["history"][0]["messageId"]

    own_task_id = namesake.start("something else", message_id=message_id)

    assert own_task_id != foreign["id"]
    assert owner.start("something else", message_id=message_id) == foreign["id"]
