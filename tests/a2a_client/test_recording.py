"""From what an agent answered to the row of its call (C6–C8)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from a2a_client import outcomes, recording
from a2a_client.accumulating import Cut, TooMuch
from a2a_client.models import CallState, Cancellation, RemoteCall
from a2a_client.outcomes import Asks, Ended, Finished, NeedsAuth, Working
from a2a_client.replies import Accepted, NotAccepted, Unknown
from a2a_protocol.types import TaskState
from agent_runs import clock
from agent_runs.questions import Question
from tests import factories
from tests.a2a_client import agents

pytestmark = pytest.mark.django_db

IDS: Any = {"task_id": "R1", "context_id": "K1"}
AT_WORK = Working(state=TaskState.TASK_STATE_WORKING, **IDS)
FAILED = Ended(
    state=TaskState.TASK_STATE_FAILED, sentence="It failed.", said="No paper.", **IDS
)
WHY: Any = {"code": "c", "sentence": "Why.", "said": "said", "detail": "detail"}


@pytest.fixture
def call() -> RemoteCall:
    return factories.make_remote_call(CallState.SENDING)


def stored() -> RemoteCall:
    return RemoteCall.objects.get()


# --- A reply --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "state"),
    [
        (NotAccepted(**WHY), CallState.NOT_ACCEPTED),
        (Unknown(**WHY), CallState.UNKNOWN),
    ],
    ids=["not accepted", "unknown"],
)
def test_a_judgement_is_kept_with_its_reasons(
    call: RemoteCall, reply: Any, state: str
) -> None:
    """C7."""
    assert recording.reply_to_message(call, reply)

    kept = stored()
    assert (kept.state, kept.code, kept.sentence) == (state, "c", "Why.")
    assert (kept.result, kept.detail) == ("said", "detail")


def test_an_accepted_reply_is_read(call: RemoteCall) -> None:
    """C8."""
    result: Any = {"task": agents.task(artifacts=[agents.artifact("Paris")])}

    assert recording.reply_to_message(call, Accepted(result=result))

    kept = stored()
    assert (kept.state, kept.result) == (CallState.COMPLETED, "Paris")
    assert (kept.remote_task_id, kept.context_id) == ("R1", "K1")


@pytest.mark.parametrize("result", [{}, {"task": {}}, {"task": 1}, {"other": {}}])
def test_an_accepted_reply_that_says_nothing_is_unknown(
    call: RemoteCall, result: Any
) -> None:
    """C7: an unreadable 200."""
    recording.reply_to_message(call, Accepted(result=result))

    assert (stored().state, stored().code) == (CallState.UNKNOWN, "unreadable")


def test_what_was_passed_over_is_logged_without_the_agents_words(
    call: RemoteCall, caplog: pytest.LogCaptureFixture
) -> None:
    """C4."""
    result: Any = {"task": agents.task(None, say="hunter22")}

    with caplog.at_level("INFO"):
        recording.reply_to_message(call, Accepted(result=result))

    (record,) = (r for r in caplog.records if r.msg == "agent's answer read in part")
    assert outcomes.UNKNOWN_STATE in vars(record)["notes"]
    assert "hunter22" not in str(vars(record))


# --- An outcome -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (Finished(text="Paris", **IDS), CallState.COMPLETED),
        (Finished(text="Paris"), CallState.COMPLETED),
        (FAILED, CallState.FAILED),
        (Asks(question=Question(text="Why?"), **IDS), CallState.ASKING),
        (NeedsAuth(sentence="Sign in.", **IDS), CallState.FAILED),
        (AT_WORK, CallState.WORKING),
    ],
    ids=["finished", "message", "ended", "asks", "needs auth", "working"],
)
def test_each_outcome_has_a_state(call: RemoteCall, found: Any, state: str) -> None:
    """C8."""
    assert recording.outcome(call, found)
    assert stored().state == state


def test_the_agents_words_of_an_end_are_kept_as_its_result(call: RemoteCall) -> None:
    """R16: encrypted and reduced as one, and not in our sentence."""
    recording.outcome(call, FAILED)

    kept = stored()
    assert (kept.code, kept.sentence, kept.result) == (
        "failed",
        "It failed.",
        "No paper.",
    )


def test_a_task_at_work_is_polled_in_two_seconds(call: RemoteCall) -> None:
    """C6."""
    before = clock.database_now()

    recording.outcome(call, AT_WORK)

    due_at = stored().due_at
    assert due_at is not None
    assert timedelta(seconds=2) <= due_at - before < timedelta(seconds=10)


def test_a_late_outcome_changes_nothing() -> None:
    """R3."""
    call = factories.make_remote_call(CallState.CANCELED)

    assert not recording.outcome(call, Finished(text="Paris", **IDS))
    assert (stored().state, stored().result) == (CallState.CANCELED, None)


def test_an_outcome_is_two_queries(call: RemoteCall) -> None:
    """The moment, and the move."""
    with CaptureQueriesContext(connection) as queries:
        recording.outcome(call, Finished(text="Paris", **IDS))

    assert len(queries) == 2


# --- The end of a stream --------------------------------------------------------------


def test_a_cut_stream_is_polled_at_once(call: RemoteCall) -> None:
    """B106."""
    recording.stream_ended(call, Cut(**IDS))

    kept = stored()
    assert (kept.state, kept.remote_task_id) == (CallState.WORKING, "R1")
    assert kept.due_at == kept.state_changed_at


def test_a_cut_stream_without_a_task_is_unknown(call: RemoteCall) -> None:
    """C7: an event came, and it named nothing that could be asked for."""
    recording.stream_ended(call, Cut())

    assert (stored().state, stored().code) == (CallState.UNKNOWN, "no_task_id")


def test_a_stream_that_told_too_much_is_ended_here_and_there(call: RemoteCall) -> None:
    """E7, C9."""
    recording.stream_ended(call, TooMuch(sentence="Too much.", **IDS))

    kept = stored()
    assert (kept.state, kept.sentence) == (CallState.FAILED, "Too much.")
    assert kept.cancellation == Cancellation.WANTED


def test_an_outcome_of_a_stream_is_an_outcome(call: RemoteCall) -> None:
    recording.stream_ended(call, Finished(text="Paris", **IDS))

    assert stored().state == CallState.COMPLETED


# --- Names ----------------------------------------------------------------------------


def test_a_task_keeps_the_id_that_it_was_given_first(call: RemoteCall) -> None:
    """B112."""
    recording.outcome(call, AT_WORK)
    recording.outcome(call, Working(state=AT_WORK.state, task_id="R2"))

    assert stored().remote_task_id == "R1"


@pytest.mark.parametrize(
    ("named", "kept"),
    [("K2", "K2"), ("", "K1"), ("x" * 500, "x" * 500), ("x" * 501, "")],
)
def test_a_context_is_known_by_what_the_agent_named_last(
    call: RemoteCall, named: str, kept: str
) -> None:
    """B112."""
    recording.outcome(call, AT_WORK)
    recording.outcome(
        call, Working(state=AT_WORK.state, task_id="R1", context_id=named)
    )

    assert stored().context_id == kept


def test_our_own_context_stays_where_the_agent_names_none(call: RemoteCall) -> None:
    """C7: it is what the task is looked up by."""
    ours = call.context_id

    recording.outcome(call, Working(state=AT_WORK.state, task_id="R1"))

    assert stored().context_id == ours


@pytest.mark.parametrize("task_id", ["", "x" * (recording.LONGEST_ID + 1)])
@pytest.mark.parametrize("kind", ["working", "asks", "too much"])
def test_what_goes_on_without_a_usable_name_is_unknown(
    call: RemoteCall, task_id: str, kind: str
) -> None:
    """C7: nobody could ask what becomes of it."""
    if kind == "too much":
        recording.stream_ended(call, TooMuch(sentence="Too much.", task_id=task_id))
    elif kind == "asks":
        recording.outcome(call, Asks(question=Question(text="?"), task_id=task_id))
    else:
        recording.outcome(call, Working(state=AT_WORK.state, task_id=task_id))

    assert (stored().state, stored().code) == (CallState.UNKNOWN, "no_task_id")


def test_what_has_ended_needs_no_name(call: RemoteCall) -> None:
    long = "x" * (recording.LONGEST_ID + 1)

    recording.outcome(call, Finished(text="Paris", task_id=long))

    assert (stored().state, stored().remote_task_id) == (CallState.COMPLETED, "")
