"""A step that a run hands to a remote agent (C5–C8)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from a2a_client.models import CallState
from agent_runs import lifecycle
from agent_runs.handlers import ModelAnswer
from agent_runs.models import AgentRunEvent, EndReason, RunState
from agent_runs.outcomes import Failed
from tests import factories
from tests.a2a_client import agents, scripts
from tests.a2a_client.delegating import (
    ASKING,
    DONE,
    TASK,
    WORKING,
    delegating,
    sends,
)

if TYPE_CHECKING:
    from tests.a2a_client.peer import Peer, Script

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("client_role"),
]


# --- How it ends ----------------------------------------------------------------------


def test_a_task_that_is_done_at_once_is_the_result(peer: Peer) -> None:
    """C6, C8, T6."""
    peer.on("SendMessage", sends(DONE))
    step = delegating(peer)

    ended = step.go()

    assert ended == ModelAnswer(text="done")
    assert step.call.state == CallState.COMPLETED
    outcome, content = step.result
    assert outcome == "success"
    assert "\nParis\n" in content
    assert "untrusted" in content


def test_a_message_is_a_result_as_well(peer: Peer) -> None:
    """C6: an answer without a task."""
    peer.on("SendMessage", scripts.result({"message": agents.message("Paris")}))
    step = delegating(peer)

    step.go()

    assert step.call.state == CallState.COMPLETED
    assert "\nParis\n" in step.result[1]


def test_a_long_task_is_polled_and_no_worker_is_held(peer: Peer) -> None:
    """C6."""
    peer.on("SendMessage", sends(WORKING))
    peer.on("GetTask", scripts.result(WORKING), scripts.result(DONE))
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


@pytest.mark.parametrize("state", ["FAILED", "REJECTED", "CANCELED"])
def test_another_end_is_an_error_with_the_agents_words(peer: Peer, state: str) -> None:
    """C8."""
    peer.on("SendMessage", sends(agents.task(state, say="No paper left.")))
    step = delegating(peer)

    step.go()

    assert step.call.state == CallState.FAILED
    assert step.call.code == state.lower()
    outcome, content = step.result
    assert outcome == "failed"
    assert step.call.sentence in content
    assert "The agent said: No paper left." in content


def test_a_sign_in_is_an_error_and_told_to_administrators(
    peer: Peer, caplog: pytest.LogCaptureFixture
) -> None:
    """C8."""
    peer.on("SendMessage", sends(agents.task("AUTH_REQUIRED", say="Sign in.")))
    step = delegating(peer)

    step.go()

    assert (step.call.state, step.call.code) == (CallState.FAILED, "auth_required")
    assert step.result[0] == "failed"
    assert "agent asks for authorization" in caplog.messages
    assert "Sign in." not in caplog.text


# --- Questions ------------------------------------------------------------------------


def test_the_agents_question_becomes_the_runs_and_the_answer_goes_back(
    peer: Peer,
) -> None:
    """C8, B112."""
    peer.on("SendMessage", sends(ASKING), sends(DONE))
    step = delegating(peer)

    waits = step.go()
    step.answer("1999")
    ended = step.go()

    assert waits.target == RunState.WAITING_FOR_INPUT
    assert waits.waiting.question.text == "Which year?"
    assert ended == ModelAnswer(text="done")
    first, second = (sent.params["message"] for sent in peer.of("SendMessage"))
    assert second["taskId"] == ASKING["id"]
    assert second["contextId"] == ASKING["contextId"]
    assert second["parts"] == [{"text": "1999"}]
    assert first["messageId"] != second["messageId"]
    assert "taskId" not in first


def test_a_question_found_by_a_poll_is_asked(peer: Peer) -> None:
    """C8."""
    peer.on("SendMessage", sends(WORKING), sends(DONE))
    peer.on("GetTask", scripts.result(ASKING))
    step = delegating(peer)

    step.go()
    step.poll()
    waits = step.go()
    step.answer("1999")
    ended = step.go()

    assert waits.waiting.question.text == "Which year?"
    assert ended == ModelAnswer(text="done")
    assert peer.count("SendMessage") == 2


def test_each_question_has_an_answer_of_its_own(peer: Peer) -> None:
    """C8, T9: the same words again are another question."""
    again = agents.task(status=ASKING["status"] | {"timestamp": "2026-01-01T00:00:00Z"})
    peer.on("SendMessage", sends(ASKING), sends(again), sends(DONE))
    step = delegating(peer)

    first = step.go()
    step.answer("1999")
    second = step.go()
    step.answer("2001")
    ended = step.go()

    assert first.waiting.id != second.waiting.id
    assert ended == ModelAnswer(text="done")
    texts = [sent.params["message"]["parts"] for sent in peer.of("SendMessage")]
    assert texts == [[{"text": TASK}], [{"text": "1999"}], [{"text": "2001"}]]


def test_a_question_that_was_answered_is_not_asked_again(peer: Peer) -> None:
    """C8: an agent tells the task as it stood before it has looked at the answer."""
    peer.on("SendMessage", sends(ASKING))
    peer.on("GetTask", scripts.result(ASKING), scripts.result(DONE))
    step = delegating(peer)

    step.go()
    step.answer("1999")
    waits = step.go()
    step.poll()
    still = step.run.state
    step.poll()
    ended = step.go()

    assert waits.target == still == RunState.WAITING_FOR_REMOTE
    assert ended == ModelAnswer(text="done")
    assert peer.count("SendMessage") == 2


def test_a_new_step_has_a_context_and_a_task_of_its_own(peer: Peer) -> None:
    """B112: the ids of one call never reach another."""
    peer.on("SendMessage", sends(DONE))
    step = delegating(peer)
    step.script.steps.insert(1, step.script.steps[0])

    step.go()

    first, second = (sent.params["message"] for sent in peer.of("SendMessage"))
    assert "taskId" not in second
    assert second["contextId"] not in {first["contextId"], DONE["contextId"]}


@pytest.mark.parametrize(
    ("named", "sent"),
    [("K2", "K2"), ("", "K1"), ("x" * 501, None)],
    ids=["another", "none", "too long"],
)
def test_an_answer_names_the_context_that_the_agent_named_last(
    peer: Peer, named: str, sent: str | None
) -> None:
    """B112: one that cannot be kept is left out; the task says it all."""
    peer.on("SendMessage", sends(WORKING), sends(DONE))
    peer.on("GetTask", scripts.result(ASKING | {"contextId": named}))
    step = delegating(peer)

    step.go()
    step.poll()
    step.go()
    step.answer("1999")
    step.go()

    answer = peer.of("SendMessage")[-1].params["message"]
    assert (answer["taskId"], answer.get("contextId")) == ("R1", sent)


def test_an_answer_with_an_unknown_outcome_is_not_sent_again(peer: Peer) -> None:
    """C7, C8."""
    peer.on("SendMessage", sends(ASKING), scripts.reset)
    step = delegating(peer)

    step.go()
    step.answer("1999")
    ended = step.go()
    step.sweep()

    assert step.call.state == CallState.UNKNOWN
    assert ended == ModelAnswer(text="done")
    assert step.result[0] == "failed"
    assert peer.count("SendMessage") == 2


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(scripts.error(-32602, "a year has four digits"), id="no answer"),
        pytest.param(scripts.http(429), id="too busy"),
        pytest.param(scripts.redirect("https://other.example"), id="elsewhere"),
    ],
)
def test_an_answer_that_was_not_taken_is_asked_for_again(
    peer: Peer, refusal: Script
) -> None:
    """C7, C8, T9: the task waits on there, and nothing of the first answer counts."""
    peer.on("SendMessage", sends(ASKING), refusal, refusal, sends(DONE))
    step = delegating(peer)

    first = step.go().waiting
    step.answer("99")
    second = step.go().waiting
    step.answer("199")
    third = step.go().waiting
    step.answer("1999")
    ended = step.go()

    assert len({asked.id for asked in (first, second, third)}) == 3
    assert second.question.text == first.question.text
    assert second.question.details.startswith("The last answer was not taken.")
    assert third.question.details == second.question.details
    assert ended == ModelAnswer(text="done")
    answers = [sent.params["message"] for sent in peer.of("SendMessage")[1:]]
    assert [answer["parts"] for answer in answers] == [
        [{"text": text}] for text in ("99", "199", "1999")
    ]
    assert len({answer["messageId"] for answer in answers}) == 3
    assert peer.count("CancelTask") == 0


def test_a_refused_answer_leaves_no_task_waiting(peer: Peer) -> None:
    """C7, C9."""
    peer.on("SendMessage", sends(ASKING), scripts.error(-32004))
    peer.on("CancelTask", scripts.result(agents.task("CANCELED")))
    step = delegating(peer)

    step.go()
    step.answer("1999")
    step.go()
    step.sweep()

    assert step.call.state == CallState.NOT_ACCEPTED
    assert peer.count("CancelTask") == 1


@pytest.mark.parametrize("level", ["none", "metadata"])
def test_nothing_is_asked_where_nothing_may_be_kept(peer: Peer, level: str) -> None:
    """R16: and the agent does not wait for ever."""
    peer.on("SendMessage", sends(ASKING))
    provider = factories.make_provider(answer_level=level)
    configuration = factories.make_configuration(provider=provider)
    columns = {"configuration": configuration, "answer_level": level}
    step = delegating(peer, run=columns)

    ended = step.go()
    lifecycle.cancel(step.run.pk)
    step.sweep()

    assert isinstance(ended, Failed)
    assert ended.reason == EndReason.POLICY_DENIED
    assert peer.count("CancelTask") == 1


def test_a_question_is_masked_where_answers_are(peer: Peer) -> None:
    """R16."""
    said = "Is password=hunter22 right?"
    peer.on("SendMessage", sends(agents.task("INPUT_REQUIRED", say=said)))
    provider = factories.make_provider(answer_level="redacted")
    configuration = factories.make_configuration(provider=provider)
    columns = {"configuration": configuration, "answer_level": "redacted"}
    step = delegating(peer, run=columns)

    waits = step.go()

    assert "hunter22" not in waits.waiting.question.text


# --- Told -----------------------------------------------------------------------------


def test_the_runs_events_tell_of_the_step_and_hold_no_contents(peer: Peer) -> None:
    """R15."""
    peer.on("SendMessage", sends(WORKING))
    step = delegating(peer)

    step.go()

    told = AgentRunEvent.objects.filter(kind="delegation").order_by("sequence")
    begins, waits = (event.facts for event in told)
    assert begins == {"tool": step.agent.tool_name}
    assert waits["remote_task"] == "R1"
    assert waits["call"] == str(step.call.pk)
    assert TASK not in json.dumps(waits)


def test_a_step_that_ended_is_told_with_its_state(peer: Peer) -> None:
    """R15."""
    peer.on("SendMessage", scripts.reset)
    step = delegating(peer)

    step.go()

    *_, ended = AgentRunEvent.objects.filter(kind="delegation").order_by("sequence")
    assert ended.facts["state"] == CallState.UNKNOWN
    assert ended.facts["code"] == step.call.code
