"""C7: an administrator asks what became of a call; the message is never sent again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from a2a_client import looking_up
from a2a_client.models import CallState, RemoteCall
from tests import factories
from tests.a2a_client import agents, scripts

if TYPE_CHECKING:
    from tests.a2a_client.peer import Peer, Script

pytestmark = pytest.mark.django_db


def call_at(peer: Peer, **values: Any) -> RemoteCall:
    agent = factories.make_remote_agent(peer.url)
    return factories.make_remote_call(CallState.UNKNOWN, agent=agent, **values)


def page_of(*tasks: dict[str, Any]) -> Script:
    page = {"nextPageToken": "", "pageSize": 50, "totalSize": len(tasks)}
    return scripts.result({"tasks": list(tasks), **page})


def test_a_call_without_a_task_is_looked_up_by_its_context(peer: Peer) -> None:
    call = call_at(peer)
    at = "2026-02-03T04:05:06Z"
    task = agents.task("COMPLETED", id="T7", contextId=call.context_id)
    task["status"]["timestamp"] = at
    peer.on("ListTasks", page_of(task))

    told = looking_up.look_up(call)

    assert told == "At the agent, task «T7» is completed since 2026-02-03 04:05:06 UTC."
    [asked] = peer.of("ListTasks")
    assert asked.params["contextId"] == call.context_id
    stored = RemoteCall.objects.get()
    assert stored.found == told
    assert stored.looked_up_at is not None
    assert stored.state == CallState.UNKNOWN
    assert peer.count("SendMessage") == 0


def test_tasks_of_other_contexts_are_not_taken_for_it(peer: Peer) -> None:
    """An agent that does not know the filter lists what it has."""
    call = call_at(peer)
    peer.on("ListTasks", page_of(agents.task("WORKING", contextId="elsewhere")))

    assert looking_up.look_up(call) == looking_up.NOTHING_IN_CONTEXT
    assert RemoteCall.objects.get().found == looking_up.NOTHING_IN_CONTEXT


def test_several_tasks_are_told_and_the_rest_counted(peer: Peer) -> None:
    call = call_at(peer)
    tasks = [
        agents.task("WORKING", id=f"T{number}", contextId=call.context_id)
        for number in range(7)
    ]
    peer.on("ListTasks", page_of(*tasks))

    told = looking_up.look_up(call)

    assert "task «T4» is working; and 2 more." in told
    assert "T5" not in told


def test_a_call_with_a_task_is_looked_up_by_it(peer: Peer) -> None:
    call = call_at(peer, remote_task_id="R1")
    peer.on("GetTask", scripts.result(agents.task("INPUT_REQUIRED")))

    told = looking_up.look_up(call)

    assert told == "At the agent, task «R1» is input required."
    assert peer.of("GetTask")[0].params["id"] == "R1"
    assert peer.count("ListTasks") == 0


def test_a_task_that_the_agent_does_not_know_is_an_answer(peer: Peer) -> None:
    call = call_at(peer, remote_task_id="R1")
    peer.on("GetTask", scripts.error(-32001))

    assert "knows no task «R1»" in looking_up.look_up(call)
    assert "knows no task «R1»" in RemoteCall.objects.get().found


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        (scripts.html(), "cannot be read"),
        (scripts.result({"no": "task"}), looking_up.UNREADABLE),
        (scripts.error(-32601), "The agent refused the request (error -32601)."),
        (scripts.reset, "Nothing was found out."),
    ],
    ids=["html", "no task", "no such method", "reset"],
)
def test_what_tells_nothing_leaves_what_was_found_before(
    peer: Peer, script: Script, sentence: str
) -> None:
    call = call_at(peer, remote_task_id="R1", found="It worked.")
    peer.on("GetTask", script)

    told = looking_up.look_up(call)

    assert told.startswith("Nothing was found out. ")
    assert sentence in told
    stored = RemoteCall.objects.get()
    assert (stored.found, stored.looked_up_at) == ("It worked.", None)


def test_words_of_the_agent_stay_in_one_line(peer: Peer) -> None:
    call = call_at(peer)
    task = agents.task(id="T\u202e\n" + "x" * 500, contextId=call.context_id)
    peer.on("ListTasks", page_of(task))

    told = looking_up.look_up(call)

    assert "\n" not in told
    assert "\u202e" not in told
    assert len(told) < 200


def test_an_agent_that_is_off_is_looked_up_all_the_same(peer: Peer) -> None:
    """It may have been switched off because of what happened."""
    call = call_at(peer)
    call.agent.is_enabled = False
    call.agent.save()
    peer.on("ListTasks", page_of())

    assert looking_up.look_up(call) == looking_up.NOTHING_IN_CONTEXT


def test_a_host_that_nobody_confirmed_is_not_asked(peer: Peer) -> None:
    """C2."""
    call = call_at(peer)
    call.agent.confirmed_origin = "https://elsewhere.example"

    told = looking_up.look_up(call)

    assert told.startswith("The agent was not asked. Nobody has confirmed")
    assert not peer.received
