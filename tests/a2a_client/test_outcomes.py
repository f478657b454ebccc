from __future__ import annotations

from typing import Any
from unittest.mock import ANY

import pytest

from a2a_client import outcomes
from a2a_client.outcomes import Asks, Ended, Finished, NeedsAuth, Working
from a2a_protocol.errors import RemoteError
from a2a_protocol.types import TaskState
from agent_runs.questions import Question
from tests.a2a_client import agents

IDS: Any = {"task_id": "R1", "context_id": "K1"}


def outcome_of(document: dict[str, Any]) -> outcomes.Outcome:
    return outcomes.of_task_result(document)[0]


def finished(document: dict[str, Any]) -> Finished:
    outcome = outcome_of(document)
    assert isinstance(outcome, Finished)
    return outcome


def test_a_completed_task_gives_the_text_of_its_artifacts() -> None:
    """C8."""
    one = agents.artifact("Hello, ", "world", id_="a1", name="Greeting")
    two = agents.artifact("Bye", id_="a2")

    assert outcome_of(agents.task(artifacts=[one, two], say="Done.")) == Finished(
        text="Hello, world\n\nBye", artifact_names=("Greeting", "a2"), **IDS
    )


def test_an_empty_artifact_is_passed_over() -> None:
    empty, full = agents.artifact(" ", id_="a1"), agents.artifact("x", id_="a2")

    found = finished(agents.task(artifacts=[empty, full]))

    assert (found.text, found.artifact_names) == ("x", ("a2",))


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"say": "It is done."}, "It is done."),
        ({"say": "It is done.", "artifacts": [agents.artifact("")]}, "It is done."),
        ({"say": ""}, outcomes.NOTHING_TOLD),
        ({}, outcomes.NOTHING_TOLD),
    ],
)
def test_without_artifacts_the_status_tells_the_result(
    members: dict[str, Any], text: str
) -> None:
    """C8."""
    assert finished(agents.task(**members)).text == text


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("FAILED", "The agent failed at the task."),
        ("REJECTED", "The agent rejected the task."),
        ("CANCELED", "The task was canceled at the agent."),
    ],
)
def test_other_ends_have_a_sentence_and_the_words_of_the_agent(
    state: str, sentence: str
) -> None:
    """C8."""
    wire_state = TaskState(f"TASK_STATE_{state}")

    assert outcome_of(agents.task(state)) == Ended(
        state=wire_state, sentence=sentence, **IDS
    )
    assert outcome_of(agents.task(state, say="No\u202e\ntime.")) == Ended(
        state=wire_state, sentence=sentence, said="No\ntime.", **IDS
    )


def test_the_words_of_an_end_are_bounded() -> None:
    outcome = outcome_of(agents.task("FAILED", say="x" * 100_000))

    assert isinstance(outcome, Ended)
    assert len(outcome.said) == outcomes.LONGEST_WORDS


def test_a_task_may_ask() -> None:
    """C8."""
    assert outcome_of(agents.task("INPUT_REQUIRED", say="Why?")) == Asks(
        question=Question(text="Why?"), mark=ANY, **IDS
    )


def asked(text: str = "Why?", moment: str = "", **members: Any) -> dict[str, Any]:
    status: dict[str, Any] = {"message": agents.message(text, **members)}
    if moment:
        status["timestamp"] = moment
    return agents.task(status={"state": "TASK_STATE_INPUT_REQUIRED"} | status)


def mark_of(document: dict[str, Any]) -> str:
    outcome = outcome_of(document)
    assert isinstance(outcome, Asks)
    return outcome.mark


def test_a_question_that_was_answered_is_not_asked_again() -> None:
    """C8: the agent has not looked at the answer yet."""
    first = asked(moment="2026-01-01T00:00:00Z")
    answered = mark_of(first)
    works = Working(state=TaskState.TASK_STATE_INPUT_REQUIRED, **IDS)

    assert outcomes.of_task_result(first, answered=answered) == (works, ())
    assert outcomes.of_send_result({"task": first}, answered=answered) == (works, ())


@pytest.mark.parametrize(
    "later",
    [
        asked(messageId="n"),
        asked(moment="2026-01-01T00:00:01Z"),
        asked("Why not?"),
    ],
    ids=["message", "moment", "words"],
)
def test_another_asking_has_another_mark(later: dict[str, Any]) -> None:
    """T9: the same words again are another question."""
    assert mark_of(later) != mark_of(asked())


def test_an_asking_that_nothing_tells_from_another_has_no_mark() -> None:
    nameless = agents.task("INPUT_REQUIRED")

    assert mark_of(nameless) == ""
    assert isinstance(outcomes.of_task_result(nameless, answered="")[0], Asks)


def test_a_task_may_want_a_sign_in() -> None:
    """C8."""
    sentence = "The agent asks for a sign-in that it was not given."

    assert outcome_of(agents.task("AUTH_REQUIRED")) == NeedsAuth(
        sentence=sentence, **IDS
    )
    assert outcome_of(agents.task("AUTH_REQUIRED", say="Go.")) == NeedsAuth(
        sentence=sentence, said="Go.", **IDS
    )


@pytest.mark.parametrize("state", ["SUBMITTED", "WORKING"])
def test_a_task_under_way_is_no_result(state: str) -> None:
    """B111."""
    wire_state = TaskState(f"TASK_STATE_{state}")
    document = agents.task(state, artifacts=[agents.artifact("half")])

    assert outcomes.of_task_result(document) == (Working(state=wire_state, **IDS), ())


@pytest.mark.parametrize("status", [None, {}, "done", {"state": None}, {"state": 99}])
def test_a_missing_state_is_never_completed(status: Any) -> None:
    """C4."""
    outcome, notes = outcomes.of_task_result(agents.task(status=status))

    assert outcome == Working(state=TaskState.TASK_STATE_UNSPECIFIED, **IDS)
    assert outcomes.UNKNOWN_STATE in notes


@pytest.mark.parametrize("state", ["PAUSED", "completed", "COMPLETED ", "UNSPECIFIED"])
def test_an_unknown_state_is_never_completed(state: str) -> None:
    """C4."""
    outcome, notes = outcomes.of_task_result(agents.task(state, say="Done."))

    assert outcome == Working(state=TaskState.TASK_STATE_UNSPECIFIED, **IDS)
    assert outcomes.UNKNOWN_STATE in notes


def test_a_timestamp_and_unknown_members_do_not_matter() -> None:
    """C4."""
    document = agents.task(newMember=1, artifacts=[agents.artifact("x", new=2)])
    document["status"] |= {"timestamp": "yesterday", "new": 3}

    outcome, notes = outcomes.of_task_result(document)

    assert isinstance(outcome, Finished)
    assert [note.partition(":")[0] for note in notes] == ["status.timestamp"]


def test_a_sent_message_is_answered_by_a_task() -> None:
    outcome, notes = outcomes.of_send_result({"task": agents.task("PAUSED")})

    assert outcome == Working(state=TaskState.TASK_STATE_UNSPECIFIED, **IDS)
    assert outcomes.UNKNOWN_STATE in notes


def test_a_sent_message_is_answered_by_a_message() -> None:
    """C6, C8, B112: its ids are the agent's."""
    document = agents.message("Hi", "there", contextId="K2")

    assert outcomes.of_send_result({"message": document}) == (
        Finished(text="Hi\nthere", context_id="K2"),
        (),
    )


def test_an_empty_message_is_an_answer_that_tells_nothing() -> None:
    outcome, _ = outcomes.of_send_result({"message": agents.message(taskId="R9")})

    assert outcome == Finished(text=outcomes.NOTHING_TOLD, task_id="R9")


@pytest.mark.parametrize(
    "result",
    [None, [], "x", {}, {"answer": 1}, {"task": None}, {"task": {"status": {}}}],
)
def test_an_answer_that_is_neither_is_refused(result: Any) -> None:
    with pytest.raises(RemoteError):
        outcomes.of_send_result(result)


@pytest.mark.parametrize("result", [None, [], {}, {"task": agents.task()}])
def test_a_task_without_an_id_is_refused(result: Any) -> None:
    with pytest.raises(RemoteError):
        outcomes.of_task_result(result)
