from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING

import pytest

from a2a_client import ledger, polling
from tests import factories
from tests.a2a_client import agents, scripts
from tests.a2a_client.management.commands import run

if TYPE_CHECKING:
    from a2a_client.models import RemoteCall
    from tests.a2a_client.peer import Peer

pytestmark = pytest.mark.django_db


def make_call(identifier: str = "desk", url: str = "") -> RemoteCall:
    agent = factories.make_remote_agent(
        url or "https://agent.example/rpc", identifier=identifier
    )
    return ledger.begin(agent, text="Confidential.", skill="news")


def test_lists_calls_with_their_states_and_without_contents() -> None:
    """C10."""
    call = make_call()
    call.remote_task_id = "task\x1b[2J-1"
    ledger.not_accepted(call, code="rpc-32602", sentence="The agent refused it.")

    said = run("a2a_agent_calls")

    for told in (
        str(call.pk),
        "desk",
        "not_accepted",
        "[2J-1",
        "The agent refused it.",
    ):
        assert told in said.out
    assert "Confidential" not in said.out
    assert "\x1b" not in said.out


def test_says_that_there_are_none() -> None:
    assert run("a2a_agent_calls").out == "There are no calls.\n"


def test_lists_those_of_an_agent_in_a_state() -> None:
    desk, other = make_call(), make_call("other")
    ledger.completed(other, "Done.")

    def ids(*arguments: str) -> list[str]:
        listed = json.loads(run("a2a_agent_calls", *arguments, "--json").out)
        return [call["id"] for call in listed]

    assert ids("desk") == [str(desk.pk)]
    assert ids("--state", "completed") == [str(other.pk)]
    assert ids("desk", "--state", "completed") == []
    assert ids() == [str(other.pk), str(desk.pk)]
    assert ids("--limit", "1") == [str(other.pk)]


def test_prints_times_for_machines() -> None:
    call = make_call()
    ledger.lost(call)

    (told,) = json.loads(run("a2a_agent_calls", "--json").out)

    assert call.ended_at
    assert told["endedAt"] == call.ended_at.isoformat(timespec="milliseconds")
    assert (told["agent"], told["skill"], told["run"]) == ("desk", "news", None)
    assert (told["state"], told["code"]) == ("unknown", "crashed")


def test_looks_a_call_up_and_sends_nothing_again(peer: Peer) -> None:
    """C7."""
    call = make_call(url=peer.url)
    ledger.lost(call)
    peer.on("ListTasks", scripts.result({"tasks": [], "totalSize": 0, "pageSize": 50}))

    said = run("a2a_agent_calls", "--look-up", str(call.pk))

    call.refresh_from_db()
    assert said.out == f"{call.found}\n"
    assert "knows no task" in said.out
    assert peer.count("SendMessage") == 0
    assert call.state == "unknown"


def test_looks_up_for_machines(peer: Peer) -> None:
    call = make_call(url=peer.url)
    ledger.lost(call)
    peer.on("ListTasks", scripts.result({"tasks": []}))

    said = run("a2a_agent_calls", "--look-up", str(call.pk), "--json")

    assert json.loads(said.out)["id"] == str(call.pk)


def test_says_that_there_is_no_such_call() -> None:
    said = run("a2a_agent_calls", "--look-up", str(uuid.uuid4()))

    assert said.code == 1
    assert "There is no call" in said.problem


def test_gives_up_a_call_that_no_run_waits_for(peer: Peer) -> None:
    """C9: its place at the agent is free again, and the agent is told."""
    agent = factories.make_remote_agent(peer.url)
    call = factories.make_remote_call("asking", agent=agent, remote_task_id="R1")
    peer.on("CancelTask", scripts.result(agents.task("CANCELED")))

    said = run("a2a_agent_calls", "--cancel", str(call.pk))
    polling.cancel()
    again = run("a2a_agent_calls", "--cancel", str(call.pk))

    call.refresh_from_db()
    assert (said.code, said.out) == (0, "Given up. The agent is told.\n")
    assert call.state == "canceled"
    assert [sent.params["id"] for sent in peer.of("CancelTask")] == ["R1"]
    assert (again.code, again.problem) == (1, "It has ended already.")


def test_a_runs_call_is_given_up_with_its_run() -> None:
    waiting = factories.make_run()
    call = factories.make_remote_call("working", run=waiting, remote_task_id="R1")

    said = run("a2a_agent_calls", "--cancel", str(call.pk))

    assert said.code == 1
    assert f"agent_cancel {waiting.pk}" in said.problem
    call.refresh_from_db()
    assert call.state == "working"


@pytest.mark.parametrize(
    "arguments",
    [["--state", "nonsense"], ["--limit", "0"], ["--look-up", "7"], ["--cancel", "x"]],
    ids=lambda arguments: arguments[0],
)
def test_bad_values_end_with_2(arguments: list[str]) -> None:
    """W8."""
    assert run("a2a_agent_calls", *arguments).code == 2
