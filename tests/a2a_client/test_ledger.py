"""The moves of a remote call: what may follow what, and what is stored with it."""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.db import IntegrityError, transaction

from a2a_client import ledger, stored
from a2a_client.models import (
    ACTIVE_STATES,
    CallState,
    Cancellation,
    RemoteAgent,
    RemoteCall,
)
from a2a_client.outcomes import Asks
from agent_runs import clock
from agent_runs.questions import Question
from tests import factories
from tests.agent_runs import locking

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.django_db

OVER = frozenset(CallState) - ACTIVE_STATES
WHAT = Asks(question=Question(text="Why?"), question_id="theirs")
WHY = {"code": "code", "sentence": "Why."}

# From which states each move may be made.
MOVES: dict[str, tuple[Callable[[RemoteCall], bool], frozenset[CallState], CallState]]
MOVES = {
    "begin_answer": (
        ledger.begin_answer,
        frozenset({CallState.ASKING}),
        CallState.SENDING,
    ),
    "working": (
        functools.partial(ledger.working, due_in=timedelta()),
        ledger.UNDER_WAY,
        CallState.WORKING,
    ),
    "asks": (
        functools.partial(ledger.asks, asked=WHAT),
        ledger.UNDER_WAY,
        CallState.ASKING,
    ),
    "completed": (
        functools.partial(ledger.completed, text="Paris"),
        ACTIVE_STATES,
        CallState.COMPLETED,
    ),
    "failed": (
        functools.partial(ledger.failed, **WHY),
        ACTIVE_STATES,
        CallState.FAILED,
    ),
    "not_accepted": (
        functools.partial(ledger.not_accepted, **WHY),
        ACTIVE_STATES,
        CallState.NOT_ACCEPTED,
    ),
    "unknown": (
        functools.partial(ledger.unknown, **WHY),
        ACTIVE_STATES,
        CallState.UNKNOWN,
    ),
    "lost": (ledger.lost, ACTIVE_STATES, CallState.UNKNOWN),
    "expired": (
        functools.partial(ledger.expired, sentence="Late."),
        ACTIVE_STATES,
        CallState.EXPIRED,
    ),
}


@pytest.mark.parametrize("state", list(CallState))
@pytest.mark.parametrize("move", list(MOVES))
def test_a_move_is_made_from_its_states_only(move: str, state: CallState) -> None:
    """C7: terminal is final; what the loser holds stays as it was."""
    act, sources, target = MOVES[move]
    call = factories.make_remote_call(state)

    won = act(call)

    assert won is (state in sources)
    assert call.state == (target if won else state)
    assert RemoteCall.objects.get().state == call.state


@pytest.mark.parametrize(
    "move", [name for name, row in MOVES.items() if row[2] in OVER]
)
def test_an_end_leaves_nothing_to_do_but_canceling(move: str) -> None:
    call = factories.make_remote_call(CallState.WORKING, due_at=clock.database_now())
    ledger.asks(call, WHAT)

    MOVES[move][0](call)

    ended = RemoteCall.objects.get()
    assert ended.ended_at == ended.state_changed_at
    assert (ended.due_at, ended.question, ended.question_key) == (None, None, "")


def test_of_two_that_end_a_call_one_wins() -> None:
    factories.make_remote_call(CallState.WORKING)
    one, other = RemoteCall.objects.get(), RemoteCall.objects.get()

    assert ledger.completed(one, "Paris")
    assert not ledger.failed(other, **WHY)

    assert RemoteCall.objects.get().result == "Paris"


# --- Beginning ------------------------------------------------------------------------


def test_a_call_is_stored_before_anything_leaves() -> None:
    """C5."""
    agent, run = factories.make_remote_agent(deadline_minutes=30), factories.make_run()

    ledger.begin(agent, text="Find it.", skill="news", run=run, call_id="c1")

    call = RemoteCall.objects.get()
    assert (call.state, call.request, call.skill) == (
        CallState.SENDING,
        "Find it.",
        "news",
    )
    assert call.message_id
    assert call.context_id
    assert call.deadline_at - call.created_at == timedelta(minutes=30)
    assert ledger.find(run.pk, "c1") == call
    assert ledger.find(run.pk, "c2") is None


def test_no_two_calls_share_an_id() -> None:
    """B112."""
    agent = factories.make_remote_agent()

    calls = [ledger.begin(agent, text="x") for _ in range(3)]

    assert len({call.message_id for call in calls}) == 3
    assert len({call.context_id for call in calls}) == 3


def test_the_same_call_of_a_run_begins_once() -> None:
    """R12: and its row cannot be there twice."""
    agent, run = factories.make_remote_agent(), factories.make_run()
    first = ledger.begin(agent, text="x", run=run, call_id="c1")

    with pytest.raises(ledger.AlreadyBegun):
        ledger.begin(agent, text="x", run=run, call_id="c1")
    with pytest.raises(IntegrityError), transaction.atomic():
        factories.make_remote_call(agent=agent, run=run, call_key=first.call_key)

    assert RemoteCall.objects.get() == first


def test_the_same_id_in_another_run_is_another_call() -> None:
    agent = factories.make_remote_agent()

    for _ in range(2):
        ledger.begin(agent, text="x", run=factories.make_run(), call_id="c1")

    assert RemoteCall.objects.count() == 2


@pytest.mark.parametrize("state", list(CallState))
def test_only_active_calls_count_against_the_limit(state: CallState) -> None:
    """C1."""
    agent = factories.make_remote_agent(max_active_calls=1)
    factories.make_remote_call(state, agent=agent)
    factories.make_remote_call(CallState.WORKING)

    if state.is_active:
        with pytest.raises(ledger.Busy):
            ledger.begin(agent, text="x")
    else:
        assert ledger.begin(agent, text="x").agent == agent


@pytest.mark.parametrize(
    "values",
    [
        {"is_enabled": False},
        {"interface_url": "", "confirmed_origin": ""},
        {"confirmed_origin": "https://other.example"},
        {"credential_kind": "bearer"},
    ],
    ids=["off", "no interface", "unconfirmed", "no secret"],
)
def test_an_agent_that_may_not_be_called_is_refused(values: dict[str, object]) -> None:
    """C1–C3: as it is stored now, not as it was read."""
    agent = factories.make_remote_agent()
    RemoteAgent.objects.update(**values)

    with pytest.raises(ledger.NotCallable, match=r"\w+\.$"):
        ledger.begin(agent, text="x")

    assert not RemoteCall.objects.exists()


def test_an_agent_that_is_gone_is_refused() -> None:
    agent = factories.make_remote_agent()
    RemoteAgent.objects.all().delete()

    with pytest.raises(ledger.NotCallable):
        ledger.begin(agent, text="x")


@pytest.mark.django_db(transaction=True)
def test_many_that_begin_at_once_stay_within_the_limit(postgresql: str) -> None:
    """C1."""
    agent = factories.make_remote_agent(max_active_calls=3)

    def begin() -> bool:
        try:
            ledger.begin(agent, text="x")
        except ledger.Busy:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        task = functools.partial(locking.with_own_connection, begin)
        begun = [future.result() for future in [threads.submit(task) for _ in range(8)]]

    assert begun.count(True) == RemoteCall.objects.count() == 3


@pytest.mark.django_db(transaction=True)
def test_two_segments_that_begin_at_once_make_one_call(postgresql: str) -> None:
    """R12."""
    agent, run = factories.make_remote_agent(), factories.make_run()

    def begin() -> bool:
        try:
            ledger.begin(agent, text="x", run=run, call_id="c1")
        except ledger.AlreadyBegun:
            return False
        return True

    with ThreadPoolExecutor(4) as threads:
        task = functools.partial(locking.with_own_connection, begin)
        begun = [future.result() for future in [threads.submit(task) for _ in range(4)]]

    assert begun.count(True) == RemoteCall.objects.count() == 1


# --- What became of it ----------------------------------------------------------------


def test_a_question_is_kept_under_a_key_of_its_own() -> None:
    """T9."""
    call = factories.make_remote_call(CallState.WORKING)

    ledger.asks(call, WHAT)
    first = call.question_key
    ledger.begin_answer(call)
    ledger.asks(call, WHAT)

    asked = RemoteCall.objects.get()
    assert asked.question_key == call.question_key != first
    assert asked.remote_question_id == "theirs"
    assert stored.load_question(asked.question or "") == WHAT.question


def test_an_answer_is_a_message_of_its_own() -> None:
    """B112."""
    call = factories.make_remote_call(CallState.ASKING)
    before = call.message_id

    ledger.begin_answer(call)

    assert RemoteCall.objects.get().message_id == call.message_id != before


def test_what_the_agent_named_is_stored_with_the_move() -> None:
    call = factories.make_remote_call(CallState.SENDING)
    call.remote_task_id, call.context_id, call.remote_state = "R1", "K1", "WORKING"

    ledger.working(call, due_in=None)

    kept = RemoteCall.objects.get()
    assert (kept.remote_task_id, kept.context_id, kept.due_at) == ("R1", "K1", None)
    assert kept.remote_state == "WORKING"


@pytest.mark.parametrize(
    ("task", "wanted"), [("", Cancellation.NONE), ("R1", Cancellation.WANTED)]
)
def test_an_answer_that_was_not_taken_leaves_a_task_to_cancel(
    task: str, wanted: str
) -> None:
    """C9."""
    call = factories.make_remote_call(CallState.SENDING, remote_task_id=task)

    ledger.not_accepted(call, **WHY)

    assert RemoteCall.objects.get().cancellation == wanted


@pytest.mark.parametrize(
    ("state", "task", "target"),
    [
        ("sending", "", CallState.UNKNOWN),
        ("sending", "R1", CallState.CANCELED),
        ("working", "R1", CallState.CANCELED),
        ("asking", "R1", CallState.CANCELED),
    ],
)
def test_what_nobody_waits_for_is_over(state: str, task: str, target: str) -> None:
    """C9: a message on its way has no task that could be named."""
    call = factories.make_remote_call(state, remote_task_id=task)

    assert ledger.abandon(call)

    is_wanted = RemoteCall.objects.get().cancellation == Cancellation.WANTED
    assert RemoteCall.objects.get().state == target
    assert is_wanted is (target == CallState.CANCELED)


def test_only_a_cancellation_that_was_sent_can_fail() -> None:
    """C9."""
    call = factories.make_remote_call(CallState.CANCELED)
    assert not ledger.cancellation_failed(call)

    RemoteCall.objects.update(cancellation=Cancellation.SENT)

    assert ledger.cancellation_failed(call)
    assert RemoteCall.objects.get().cancellation == Cancellation.FAILED


@pytest.mark.parametrize(
    ("left", "seconds"), [(timedelta(minutes=1), 60), (-timedelta(hours=1), 1)]
)
def test_there_is_always_a_second_left(left: timedelta, seconds: int) -> None:
    call = factories.make_remote_call(CallState.SENDING)
    call.deadline_at = clock.database_now() + left

    assert seconds - 1 < ledger.seconds_left(call) <= seconds


@pytest.mark.parametrize("state", ["sending", "asking", "completed"])
def test_only_what_the_agent_works_on_is_postponed_or_held(state: str) -> None:
    call = factories.make_remote_call(state)

    assert not ledger.postpone(call, timedelta(minutes=1))
    assert not ledger.hold(call, timedelta(minutes=1))
    assert RemoteCall.objects.get().due_at is None


def test_what_was_looked_up_leaves_the_state_alone() -> None:
    """C7."""
    call = factories.make_remote_call(CallState.UNKNOWN)

    ledger.found(call, "At the agent, it is working.")

    kept = RemoteCall.objects.get()
    assert (kept.state, kept.found) == (CallState.UNKNOWN, call.found)
    assert kept.looked_up_at


def test_what_there_was_is_encrypted() -> None:
    """R17."""
    call = factories.make_remote_call(CallState.SENDING, text="Find Paris.")
    ledger.unknown(call, code="c", sentence="s", text="said Paris", detail="in Paris")

    columns = "request", "result", "detail"
    row = RemoteCall.objects.values_list(*columns).get()

    assert "Paris" not in str(row)
    kept = RemoteCall.objects.get()
    assert (kept.request, kept.result) == ("Find Paris.", "said Paris")
    assert kept.detail == "in Paris"


@pytest.mark.parametrize("give_up", [ledger.lost, ledger.abandon])
def test_whoever_judges_by_an_old_row_leaves_a_newer_one_alone(
    give_up: Callable[[RemoteCall], bool],
) -> None:
    """C7, C9: the task's name, by which it is polled and canceled, is not lost."""
    factories.make_remote_call(CallState.SENDING)
    old, slow = RemoteCall.objects.get(), RemoteCall.objects.get()
    slow.remote_task_id = "R1"
    assert ledger.working(slow, due_in=timedelta())

    won = give_up(old)

    assert not won
    kept = RemoteCall.objects.get()
    assert (kept.state, kept.remote_task_id) == (CallState.WORKING, "R1")
