from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from agent_runs import clock, lifecycle, waiting
from agent_runs.contents import Result, text_output
from agent_runs.events import NewEvent
from agent_runs.lifecycle import MOVES, Lease, Move
from agent_runs.models import AgentRun, AgentRunEvent, EndReason, RunState
from agent_runs.models.run import TERMINAL_STATES, WAITING_STATES, EventKind
from agent_runs.signals import RunChange, run_changed
from tests import factories

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.django_db

RESULT = Result(outputs=(text_output("done"),))
RETRY = NewEvent(kind=EventKind.RETRY)
QUESTION = factories.make_question()


@pytest.fixture
def changes() -> Iterator[list[RunChange]]:
    seen: list[RunChange] = []

    def receive(change: RunChange, **_: object) -> None:
        seen.append(change)

    run_changed.connect(receive)
    yield seen
    run_changed.disconnect(receive)


def _claimed(**values: object) -> tuple[AgentRun, Lease]:
    run = factories.make_run(RunState.QUEUED, **values)
    owner = f"me-{run.id}"
    lease = lifecycle.claim(run.id, owner=owner, now=clock.database_now())
    assert lease
    return run, lease


def _state(run: AgentRun) -> str:
    return AgentRun.objects.values_list("state", flat=True).get(id=run.id)


def test_the_table_reaches_every_state_and_leaves_no_terminal_one() -> None:
    """R1, R2, R3: terminal is final."""
    targets = {target for rule in MOVES.values() for target in rule.targets}
    sources = {source for rule in MOVES.values() for source in rule.sources}

    assert set(MOVES) == set(Move)
    assert targets == set(RunState)
    assert sources == set(RunState) - TERMINAL_STATES


def test_claim_takes_a_due_run_with_a_lease() -> None:
    run = factories.make_run(RunState.QUEUED)
    now = clock.database_now()

    lease = lifecycle.claim(run.id, owner="me", now=now)

    run.refresh_from_db()
    assert lease
    assert (run.state, run.lease_owner) == (RunState.RUNNING, "me")
    assert run.lease_expires_at == now + timedelta(seconds=60)
    assert (run.segments, run.started_at, run.due_at) == (1, now, None)


def test_claim_leaves_a_run_that_is_not_due() -> None:
    now = clock.database_now()
    run = factories.make_run(RunState.QUEUED, due_at=now + timedelta(seconds=30))

    assert lifecycle.claim(run.id, owner="me", now=now) is None
    assert _state(run) == RunState.QUEUED


def test_only_one_of_two_claims_wins(caplog: pytest.LogCaptureFixture) -> None:
    """R2, R3: the loser gets no error, and the log says so."""
    run, lease = _claimed()
    caplog.set_level(logging.INFO)

    assert lifecycle.claim(run.id, owner="you", now=clock.database_now()) is None
    run.refresh_from_db()
    assert run.lease_owner == lease.owner
    assert "move lost" in caplog.text


def test_a_renewal_prolongs_the_lease_and_stores_columns() -> None:
    run, lease = _claimed()
    later = clock.database_now() + timedelta(seconds=20)

    assert lifecycle.renew(lease, now=later, rounds=2)

    run.refresh_from_db()
    assert run.lease_expires_at == later + timedelta(seconds=60)
    assert run.rounds == 2


def test_a_renewal_with_a_foreign_lease_stores_nothing() -> None:
    """R9: no row touched means the lease is lost."""
    run, lease = _claimed()
    foreign = Lease(run_id=lease.run_id, owner="you")

    assert not lifecycle.renew(
        foreign, now=clock.database_now(), new_event=RETRY, rounds=9
    )

    run.refresh_from_db()
    assert run.rounds == 0
    assert not AgentRunEvent.objects.exists()


def test_completing_stores_result_reason_and_event() -> None:
    run, lease = _claimed()
    now = clock.database_now()

    assert lifecycle.complete(lease, result=RESULT, truncated=True, now=now)

    run.refresh_from_db()
    assert (run.state, run.end_reason) == (RunState.COMPLETED, EndReason.COMPLETED)
    assert (run.ended_at, run.truncated, run.lease_owner) == (now, True, "")
    assert "done" in run.result
    assert run.events.get().facts == {"state": "completed", "reason": "completed"}


@pytest.mark.parametrize("state", sorted(TERMINAL_STATES))
def test_a_terminal_run_is_not_moved_by_anybody(state: RunState) -> None:
    """R3: a late settle, suspend, renewal, answer or cancel changes nothing."""
    run = factories.make_run(state)
    before = AgentRun.objects.filter(id=run.id).values().get()
    lease, now = Lease(run_id=run.id, owner="me"), clock.database_now()

    moved = [
        lifecycle.claim(run.id, owner="me", now=now) is not None,
        lifecycle.renew(lease, now=now),
        lifecycle.complete(lease, result=RESULT, truncated=False, now=now),
        lifecycle.fail(run.id, EndReason.NOT_RETRYABLE, now=now, lease=lease),
        lifecycle.reject(lease, detail="no", now=now),
        lifecycle.suspend(lease, RunState.WAITING_FOR_INPUT, waiting=QUESTION, now=now),
        lifecycle.resume(
            run.id,
            RunState.WAITING_FOR_INPUT,
            waiting_id=QUESTION.id,
            pending="{}",
            now=now,
        ),
        lifecycle.requeue(lease, delay=timedelta(), now=now, event=RETRY),
        lifecycle.release(lease, delay=timedelta(), now=now),
        lifecycle.cancel(run.id),
    ]

    assert not any(moved)
    assert AgentRun.objects.filter(id=run.id).values().get() == before


def test_settling_forgets_checkpoint_and_pending_answer() -> None:
    run, lease = _claimed(checkpoint="state", pending="answer")

    lifecycle.fail(
        run.id, EndReason.NOT_RETRYABLE, now=clock.database_now(), lease=lease
    )

    run.refresh_from_db()
    assert (run.checkpoint, run.pending) == (None, None)


@pytest.mark.parametrize("target", sorted(WAITING_STATES))
def test_a_waiting_run_has_no_lease_and_can_be_resumed(target: RunState) -> None:
    run, lease = _claimed(checkpoint="state")
    now = clock.database_now()

    assert lifecycle.suspend(lease, target, waiting=QUESTION, now=now)
    run.refresh_from_db()
    assert (run.state, run.lease_owner, run.due_at) == (target, "", None)
    assert waiting.load(run.waiting_for or "") == QUESTION

    assert lifecycle.resume(
        run.id, target, waiting_id=QUESTION.id, pending="answer", now=now
    )
    run.refresh_from_db()
    assert (run.state, run.pending, run.due_at) == (RunState.QUEUED, "answer", now)
    assert (run.waiting_for, run.waiting_id) == (None, "")


def test_an_answer_to_another_question_does_not_resume_the_run() -> None:
    """T9."""
    run = factories.make_run(RunState.WAITING_FOR_INPUT)

    is_resumed = lifecycle.resume(
        run.id,
        RunState.WAITING_FOR_INPUT,
        waiting_id=factories.make_question("Another one?").id,
        pending="{}",
        now=clock.database_now(),
    )

    assert (is_resumed, _state(run)) == (False, RunState.WAITING_FOR_INPUT)


def test_an_end_takes_the_question_away() -> None:
    run = factories.make_run(RunState.WAITING_FOR_INPUT)

    lifecycle.cancel(run.id)

    run.refresh_from_db()
    assert (run.waiting_for, run.waiting_id) == (None, "")


def test_only_one_of_two_answers_resumes_the_run() -> None:
    """T10: the other one gets «not waiting»."""
    run, lease = _claimed()
    now = clock.database_now()
    lifecycle.suspend(lease, RunState.WAITING_FOR_INPUT, waiting=QUESTION, now=now)

    first, second = (
        lifecycle.resume(
            run.id,
            RunState.WAITING_FOR_INPUT,
            waiting_id=QUESTION.id,
            pending=text,
            now=now,
        )
        for text in ("one", "two")
    )

    run.refresh_from_db()
    assert (first, second, run.pending) == (True, False, "one")


def test_a_requeue_counts_and_waits() -> None:
    run, lease = _claimed()
    now, delay = clock.database_now(), timedelta(seconds=30)

    lifecycle.requeue(lease, delay=delay, now=now, event=RETRY)

    run.refresh_from_db()
    assert (run.state, run.requeues) == (RunState.QUEUED, 1)
    assert (run.due_at, run.nudged_at) == (now + delay, None)


def test_a_release_does_not_count() -> None:
    run, lease = _claimed()
    now = clock.database_now()

    lifecycle.release(lease, delay=timedelta(), now=now)

    run.refresh_from_db()
    assert (run.state, run.requeues, run.due_at) == (RunState.QUEUED, 0, now)


@pytest.mark.parametrize("state", sorted(set(RunState) - TERMINAL_STATES))
def test_cancel_ends_every_open_run_once(
    state: RunState, changes: list[RunChange]
) -> None:
    run = factories.make_run(state)

    first, second = lifecycle.cancel(run.id), lifecycle.cancel(run.id)

    run.refresh_from_db()
    assert (first, second) == (True, False)
    assert (run.state, run.end_reason) == (RunState.CANCELED, EndReason.CANCELED)
    assert [(c.previous, c.state) for c in changes] == [(state, RunState.CANCELED)]


def test_canceling_an_unknown_run_does_nothing() -> None:
    assert not lifecycle.cancel(uuid4())


def test_a_receiver_that_raises_undoes_the_move() -> None:
    """What is derived from a move is stored with it or not at all."""
    run = factories.make_run(RunState.QUEUED)

    def refuse(**_: object) -> None:
        raise IntegrityError

    run_changed.connect(refuse)
    try:
        with pytest.raises(IntegrityError), transaction.atomic():
            lifecycle.cancel(run.id)
    finally:
        run_changed.disconnect(refuse)

    assert _state(run) == RunState.QUEUED


def test_a_change_carries_result_and_time(changes: list[RunChange]) -> None:
    _, lease = _claimed()
    now = clock.database_now()

    lifecycle.complete(lease, result=RESULT, truncated=False, now=now)

    claimed, completed = changes
    assert (claimed.previous, claimed.state) == (RunState.QUEUED, RunState.RUNNING)
    assert (completed.result, completed.at) == (RESULT, now)
    assert completed.end_reason == EndReason.COMPLETED


def test_events_are_numbered_without_gaps() -> None:
    """R15."""
    run, lease = _claimed()

    for _ in range(3):
        lifecycle.renew(lease, now=clock.database_now(), new_event=RETRY)
    lifecycle.cancel(run.id)

    assert list(run.events.values_list("sequence", flat=True).order_by("sequence")) == [
        1,
        2,
        3,
        4,
    ]


def test_a_move_that_is_not_in_the_table_is_a_programming_error() -> None:
    with pytest.raises(lifecycle.IllegalMove):
        lifecycle.resume(
            uuid4(),
            RunState.RUNNING,
            waiting_id="",
            pending="",
            now=clock.database_now(),
        )


def test_still_held_tells_whose_rows_are_gone() -> None:
    _kept, kept_lease = _claimed()
    gone, gone_lease = _claimed()
    lifecycle.cancel(gone.id)

    assert lifecycle.still_held([kept_lease, gone_lease]) == {kept_lease.owner}


def test_a_lost_lease_does_not_hide_the_next_one_of_the_same_run() -> None:
    """One process may still work on a segment whose run it has claimed again."""
    run, lost = _claimed()
    AgentRun.objects.filter(id=run.id).update(lease_owner="the next")
    living = Lease(run_id=run.id, owner="the next")

    assert lifecycle.still_held([living, lost]) == {"the next"}
    assert lifecycle.still_held([lost, living]) == {"the next"}
