"""A step that a run hands to a remote agent (C5–C8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from a2a_client.models import CallState
from agent_runs.handlers import ModelAnswer
from agent_runs.models import RunState
from tests.a2a_client import agents, scripts
from tests.a2a_client.delegating import delegating

if TYPE_CHECKING:
    from tests.a2a_client.peer import Peer

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("client_role"),
]


def test_a_task_that_is_done_at_once_is_the_result(peer: Peer) -> None:
    """C6, C8, T6."""
    done = agents.task(artifacts=[agents.artifact("Paris")])
    peer.on("SendMessage", scripts.result({"task": done}))
    step = delegating(peer)

    ended = step.go()

    assert ended == ModelAnswer(text="done")
    assert step.call.state == CallState.COMPLETED
    outcome, content = step.result
    assert outcome == "success"
    assert "\nParis\n" in content
    assert "untrusted" in content


def test_a_long_task_is_polled_and_no_worker_is_held(peer: Peer) -> None:
    """C6."""
    working = agents.task("WORKING")
    done = agents.task(artifacts=[agents.artifact("Paris")])
    peer.on("SendMessage", scripts.result({"task": working}))
    peer.on("GetTask", scripts.result(working), scripts.result(done))
    step = delegating(peer)

    waits = step.go()
    step.poll()
    still = step.run.state
    step.poll()
    ended = step.go()

    assert waits.target == still == RunState.WAITING_FOR_REMOTE
    assert ended == ModelAnswer(text="done")
    assert "Paris" in step.result[1]
    assert peer.count("SendMessage") == 1


def test_the_agents_question_becomes_the_runs_and_the_answer_goes_back(
    peer: Peer,
) -> None:
    """C8, B112."""
    asking = agents.task(
        "INPUT_REQUIRED",
        status={
            "state": "TASK_STATE_INPUT_REQUIRED",
            "message": agents.message("Which year?"),
        },
    )
    done = agents.task(artifacts=[agents.artifact("Paris")])
    peer.on(
        "SendMessage", scripts.result({"task": asking}), scripts.result({"task": done})
    )
    step = delegating(peer)

    waits = step.go()
    step.answer("1999")
    ended = step.go()

    assert waits.target == RunState.WAITING_FOR_INPUT
    assert waits.waiting.question.text == "Which year?"
    assert ended == ModelAnswer(text="done")
    first, second = (sent.params["message"] for sent in peer.of("SendMessage"))
    assert second["taskId"] == asking["id"]
    assert second["contextId"] == asking["contextId"]
    assert second["parts"] == [{"text": "1999"}]
    assert first["messageId"] != second["messageId"]
