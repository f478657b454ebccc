from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from a2a_client.models import RemoteCall
from tests import factories
from tests.a2a_client import agents, scripts
from tests.a2a_client.management.commands import run

if TYPE_CHECKING:
    from tests.a2a_client.management.conftest import Input
    from tests.a2a_client.peer import Peer, Script

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stdin", "_desk")]

DONE = [agents.artifact("Done.")]


@pytest.fixture
def _desk(peer: Peer) -> None:
    factories.make_remote_agent(peer.url, identifier="desk")


def task(state: str, **members: Any) -> Script:
    return scripts.result({"task": agents.task(state, **members)})


def test_prints_the_answer_alone(peer: Peer) -> None:
    """C10: progress goes to standard error."""
    peer.on("SendMessage", task("COMPLETED", artifacts=DONE))

    said = run("a2a_agent_call", "desk", "Do it.")

    assert (said.code, said.out) == (0, "Done.\n")
    assert "Sending to 127.0.0.1." in said.err


def test_lets_no_answer_move_the_cursor(peer: Peer) -> None:
    artifacts = [agents.artifact("One\x1b[2J\nTwo")]
    peer.on("SendMessage", task("COMPLETED", artifacts=artifacts))

    assert run("a2a_agent_call", "desk", "Do it.").out == "One[2J\nTwo\n"


def test_says_why_there_is_no_answer(peer: Peer) -> None:
    """C8."""
    peer.on("SendMessage", task("REJECTED", say="Not my job."))

    said = run("a2a_agent_call", "desk", "Do it.")

    assert (said.code, said.out) == (1, "")
    assert "rejected" in said.problem
    assert "Not my job." in said.problem


def test_says_how_to_find_out_what_became_of_it(peer: Peer) -> None:
    """C7."""
    peer.on("SendMessage", scripts.reset)

    said = run("a2a_agent_call", "desk", "Do it.")

    call = RemoteCall.objects.get()
    assert said.code == 1
    assert f"manage.py a2a_agent_calls --look-up {call.pk}" in said.problem


def test_asks_at_the_terminal(peer: Peer, stdin: Input) -> None:
    """C10: until something is an answer."""
    asks = task("INPUT_REQUIRED", say="Which section?")
    peer.on("SendMessage", asks, task("COMPLETED", artifacts=DONE))
    stdin.typed("x" * 10_001 + "\nScience\n")

    said = run("a2a_agent_call", "desk", "Do it.")

    assert (said.code, said.out) == (0, "Done.\n")
    assert "Which section?" in said.err
    answer = peer.of("SendMessage")[1].params["message"]
    assert answer["parts"] == [{"text": "Science"}]


@pytest.mark.parametrize("typed", [None, "\n"], ids=["no-terminal", "nothing-typed"])
def test_an_open_question_ends_with_3(
    peer: Peer, stdin: Input, typed: str | None
) -> None:
    """C10: it says how to answer."""
    peer.on("SendMessage", task("INPUT_REQUIRED", say="Which section?"))
    if typed:
        stdin.typed(typed)

    said = run("a2a_agent_call", "desk", "Do it.")

    assert (said.code, said.out) == (3, "")
    assert "Which section?" in said.problem
    assert "a2a_agent_call desk --task-id R1 --answer" in said.problem


def test_answers_later(peer: Peer) -> None:
    """C10."""
    asks = task("INPUT_REQUIRED", say="Which section?")
    peer.on("SendMessage", asks, task("COMPLETED", artifacts=DONE))
    run("a2a_agent_call", "desk", "Do it.")

    said = run("a2a_agent_call", "desk", "--task-id", "R1", "--answer", "Science")

    assert (said.code, said.out) == (0, "Done.\n")


def test_does_not_wait(peer: Peer) -> None:
    """C10."""
    peer.on("SendMessage", task("WORKING"))

    said = run("a2a_agent_call", "desk", "Do it.", "--no-wait")

    assert (said.code, said.out) == (0, "")
    assert "a2a_agent_call desk --task-id R1" in said.err
    assert peer.count("GetTask") == 0


def test_a_time_that_is_over_ends_with_1(peer: Peer) -> None:
    peer.on("SendMessage", task("WORKING"))

    said = run("a2a_agent_call", "desk", "Do it.", "--timeout", "0")

    assert said.code == 1
    assert "goes on with task R1" in said.problem


def test_prints_for_machines(peer: Peer) -> None:
    peer.on("SendMessage", task("INPUT_REQUIRED", say="Which section?"))

    said = run("a2a_agent_call", "desk", "Do it.", "--json")

    told = json.loads(said.out)
    assert said.code == 3
    assert (told["state"], told["taskId"], told["contextId"]) == ("asking", "R1", "K1")
    assert told["question"]["text"] == "Which section?"


def test_prints_an_answer_for_machines(peer: Peer) -> None:
    peer.on("SendMessage", task("COMPLETED", artifacts=DONE))

    told = json.loads(run("a2a_agent_call", "desk", "Do it.", "--json").out)

    assert (told["state"], told["text"], told["question"]) == (
        "completed",
        "Done.",
        None,
    )


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param([], id="nothing"),
        pytest.param(["Do it.", "--task-id", "R1"], id="both"),
        pytest.param(["Do it.", "--answer", "x"], id="answer-to-nothing"),
        pytest.param(["--task-id", "R1", "--skill", "news"], id="skill-later"),
        pytest.param(["--task-id", "R1", "--context-id", "K1"], id="context-later"),
        pytest.param(["Do it.", "--no-wait", "--timeout", "1"], id="no-wait-timeout"),
        pytest.param(["Do it.", "--timeout", "-1"], id="timeout"),
    ],
)
def test_bad_options_end_with_2(peer: Peer, arguments: list[str]) -> None:
    """W8."""
    assert run("a2a_agent_call", "desk", *arguments).code == 2
    assert peer.connections == 0


def test_says_what_was_refused() -> None:
    said = run("a2a_agent_call", "desk", "Do it.", "--skill", "weather")

    assert said.code == 1
    assert "no skill «weather»" in said.problem
