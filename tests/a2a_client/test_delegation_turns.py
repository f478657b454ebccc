"""Segments that die, turns of several calls, and agents that are taken away."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection

from a2a_client import delegation, ledger
from a2a_client.models import CallState, RemoteAgent, RemoteCall
from agent_runs import deciding
from agent_runs.handlers import ModelAnswer
from agent_runs.models import RunState
from agent_runs.open_turn import DENIED
from agent_runs.tools.progress import StillRunning
from tests import factories
from tests.a2a_client import agents, scripts
from tests.a2a_client.delegating import (
    ASKING,
    CALL_ID,
    DONE,
    TASK,
    WORKING,
    delegating,
    sends,
)
from tests.agent_runs.scripted import after_a_death, registered

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_django.fixtures import SettingsWrapper

    from tests.a2a_client.delegating import Delegating
    from tests.a2a_client.peer import Peer

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("client_role"),
]


# --- Segments that die ----------------------------------------------------------------


def begun(step: Delegating) -> RemoteCall:
    return ledger.begin(step.agent, text=TASK, run=step.run, call_id=CALL_ID)


def test_a_message_that_was_about_to_leave_is_never_sent(peer: Peer) -> None:
    """C7, R12: whether it left is not known."""
    peer.on("SendMessage", sends(DONE))
    step = delegating(peer)
    begun(step)

    ended = step.go()

    assert (step.call.state, step.call.code) == (CallState.UNKNOWN, ledger.CRASHED)
    assert ended == ModelAnswer(text="done")
    assert ledger.LOST in step.result[1]
    assert peer.count("SendMessage") == 0


def test_a_segment_that_was_only_slow_has_recorded_what_counts(peer: Peer) -> None:
    """C7, R12: it had lost its lease, and records between the look and the verdict."""
    step = delegating(peer)
    slow = begun(step)
    slow.remote_task_id = "R1"

    def record_first(execute: Any, sql: str, *args: Any) -> Any:
        if sql.startswith("UPDATE") and slow.state == CallState.SENDING:
            slow.state = CallState.WORKING
            assert ledger.working(slow, due_in=timedelta())
        return execute(sql, *args)

    with connection.execute_wrapper(record_first):
        found = step.delegate()

    assert isinstance(found, StillRunning)
    assert (step.call.state, step.call.remote_task_id) == (CallState.WORKING, "R1")
    assert peer.count("SendMessage") == 0


def test_an_answer_that_was_about_to_leave_is_never_sent(peer: Peer) -> None:
    """C7, R12."""
    peer.on("SendMessage", sends(ASKING))
    step = delegating(peer)
    step.go()
    step.answer("1999")
    assert ledger.begin_answer(step.call)

    step.go()

    assert step.call.state == CallState.UNKNOWN
    assert step.result[0] == "failed"
    assert peer.count("SendMessage") == 1


@pytest.mark.parametrize(
    ("answer", "target"),
    [(DONE, None), (WORKING, "waiting_for_remote"), (ASKING, "waiting_for_input")],
    ids=["done", "working", "asking"],
)
def test_what_was_recorded_before_a_death_counts(
    peer: Peer, answer: dict[str, Any], target: str | None
) -> None:
    """R8, R12."""
    peer.on("SendMessage", sends(answer))
    step = delegating(peer)
    step.delegate()
    step.segment = after_a_death(step.segment)

    ended = step.go()

    assert getattr(ended, "target", None) == target
    assert peer.count("SendMessage") == 1


def test_a_run_that_has_delegated_never_starts_over(peer: Peer) -> None:
    """R11: it goes on from its checkpoint."""
    peer.on("SendMessage", sends(WORKING))
    step = delegating(peer)

    step.go()

    assert step.run.has_effects
    assert step.run.checkpoint


def test_a_second_segment_sends_nothing_again(peer: Peer) -> None:
    """R12: the first one has lost its lease and still begins the call."""
    peer.on("SendMessage", sends(DONE))
    step = delegating(peer)
    begun(step)

    with pytest.raises(ledger.AlreadyBegun):
        begun(step)

    assert RemoteCall.objects.count() == 1


def test_of_two_segments_with_an_answer_one_sends_it(peer: Peer) -> None:
    """R12: the other one has looked at the row before the first began."""
    peer.on("SendMessage", sends(ASKING))
    step = delegating(peer)
    step.go()
    step.answer("1999")

    def begun_by_another(
        execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
    ) -> Any:
        if sql.startswith('UPDATE "a2a_client_remotecall"'):
            faster = "UPDATE a2a_client_remotecall SET state = 'sending'"
            execute(faster, (), False, context)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(begun_by_another):
        step.go()

    assert peer.count("SendMessage") == 1


def test_an_answer_that_came_too_late_changes_nothing(peer: Peer) -> None:
    """R3: another segment has given the message up."""
    step = delegating(peer)
    late, current = begun(step), step.call
    ledger.lost(current)

    assert not ledger.completed(late, "Paris")
    assert step.call.state == CallState.UNKNOWN


# --- Who may, and how many ------------------------------------------------------------


def test_a_busy_agent_gets_nothing_more(peer: Peer) -> None:
    """C1: the model is told, and may try again."""
    step = delegating(peer, max_active_calls=1)
    factories.make_remote_call(CallState.WORKING, agent=step.agent)

    step.go()

    assert step.result == ("failed", delegation.BUSY)
    assert peer.connections == 0
    assert RemoteCall.objects.count() == 1


CHANGES: dict[str, dict[str, Any]] = {
    "disabled": {"is_enabled": False},
    "unconfirmed": {"confirmed_origin": ""},
    "without its secret": {"credential_kind": "bearer"},
}


@pytest.mark.parametrize("change", list(CHANGES))
def test_an_agent_that_may_not_be_called_gets_nothing(peer: Peer, change: str) -> None:
    """C2, C3: the run was offered it before."""
    step = delegating(peer)
    RemoteAgent.objects.update(**CHANGES[change])

    step.go()

    assert step.result[0] == "failed"
    assert peer.connections == 0


@pytest.mark.parametrize("change", list(CHANGES))
def test_an_agent_that_may_not_be_called_any_more_ends_the_wait(
    peer: Peer, change: str
) -> None:
    """C3, T3: at once where the run is told, at the deadline where only polls fail."""
    peer.on("SendMessage", sends(WORKING))
    step = delegating(peer)
    step.go()
    RemoteAgent.objects.update(**CHANGES[change])
    RemoteCall.objects.update(deadline_at=step.call.created_at)

    step.sweep()
    ended = step.go()

    assert ended == ModelAnswer(text="done")
    assert step.result[0] == "failed"
    assert peer.count("SendMessage") == 1


def test_no_answer_goes_to_an_agent_that_was_taken_away(peer: Peer) -> None:
    """T3: enforced at every resume."""
    peer.on("SendMessage", sends(ASKING))
    step = delegating(peer)
    step.go()
    step.answer("1999")
    RemoteAgent.objects.update(is_enabled=False)

    step.go()

    assert step.result[0] == "failed"
    assert peer.count("SendMessage") == 1


def test_without_the_role_a_waiting_run_is_told(
    peer: Peer, settings: SettingsWrapper
) -> None:
    """C1: nothing is asked, and nothing is stuck."""
    peer.on("SendMessage", sends(WORKING))
    step = delegating(peer)
    step.go()
    settings.A2A_CLIENT_ENABLED = False

    step.sweep()
    step.go()

    assert step.result[0] == "failed"
    assert len(peer.received) == 1


def test_only_members_of_its_groups_are_given_it(peer: Peer) -> None:
    """C1, T3."""
    peer.on("SendMessage", sends(DONE))
    step = delegating(peer)
    group = factories.make_group()
    step.agent.allowances.create(group=group)

    step.go()

    assert step.result[0] == "failed"
    assert peer.connections == 0


def test_a_member_of_its_groups_is_given_it(peer: Peer) -> None:
    """C1, T3."""
    peer.on("SendMessage", sends(DONE))
    step = delegating(peer)
    step.agent.allowances.create(group=factories.make_group(members=[step.run.owner]))

    step.go()

    assert step.result[0] == "success"


def test_a_run_without_a_workspace_hands_nothing_on(peer: Peer) -> None:
    """T15."""
    step = delegating(peer, run={"workspace": None})

    step.go()

    assert step.result == ("failed", "There is no workspace to write to.")
    assert peer.connections == 0


# --- Approval, and several calls in a turn --------------------------------------------


@pytest.mark.parametrize("approve", [True, False], ids=["approved", "denied"])
def test_a_step_waits_for_its_approval_once(peer: Peer, approve: bool) -> None:
    """T11, T12: a wait for the agent does not ask again."""
    peer.on("SendMessage", sends(WORKING))
    peer.on("GetTask", scripts.result(DONE))
    step = delegating(peer, requires_approval=True)

    asks = step.go()
    assert peer.connections == 0
    boss = factories.make_user(is_superuser=True)
    deciding.decide(step.run.pk, asks.waiting.id, approve=approve, user=boss)
    waits = step.go()

    assert asks.target == RunState.WAITING_FOR_APPROVAL
    assert f"{step.agent.name} at 127.0.0.1" in asks.waiting.calls[0].preview
    if approve:
        assert waits.target == RunState.WAITING_FOR_REMOTE
        step.poll()
        assert step.go() == ModelAnswer(text="done")
        assert "Paris" in step.result[1]
    else:
        assert step.result == ("denied", DENIED)
        assert peer.connections == 0


def test_a_step_that_was_handed_over_is_not_asked_about_again(peer: Peer) -> None:
    """T12, T13: what left was approved as it was shown, whatever it is called by now."""
    peer.on("SendMessage", sends(WORKING))
    peer.on("GetTask", scripts.result(DONE))
    step = delegating(peer, requires_approval=True)
    asks = step.go()
    boss = factories.make_user(is_superuser=True)
    deciding.decide(step.run.pk, asks.waiting.id, approve=True, user=boss)
    step.go()
    RemoteAgent.objects.update(name="Another name")
    step.poll()

    assert step.go() == ModelAnswer(text="done")


def test_a_turn_of_an_approved_step_and_others_is_approved_once(peer: Peer) -> None:
    """R7, R8, T12."""
    peer.on("SendMessage", sends(WORKING))
    peer.on("GetTask", scripts.result(DONE))
    with registered() as box:
        box.add("look")
        step = delegating(peer, requires_approval=True)
        step.script.steps[0] += [("look", "{}")]
        step.segment.run.tools += ["look"]
        step.segment.run.save(update_fields=["tools"])

        asks = step.go()
        boss = factories.make_user(is_superuser=True)
        deciding.decide(step.run.pk, asks.waiting.id, approve=True, user=boss)
        waits = step.go()
        before = list(box.ran)
        step.poll()
        ended = step.go()

    assert waits.target == RunState.WAITING_FOR_REMOTE
    assert before == []
    assert box.ran == [("look", 0)]
    assert ended == ModelAnswer(text="done")
    assert [outcome for outcome, _ in step.script.results()] == ["success"] * 2


def test_two_steps_of_a_turn_are_handed_over_one_after_the_other(peer: Peer) -> None:
    """R8: and the first is not handed over again."""
    other = agents.task("WORKING", id="R2")
    rome = agents.task(id="R2", artifacts=[agents.artifact("Rome")])
    peer.on("SendMessage", sends(WORKING), sends(other))
    peer.on("GetTask", scripts.result(DONE), scripts.result(rome))
    step = delegating(peer)
    step.script.steps[0] *= 2

    first = step.go()
    step.poll()
    second = step.go()
    step.poll()
    ended = step.go()

    assert first.waiting.id != second.waiting.id
    assert ended == ModelAnswer(text="done")
    contents = [content for _, content in step.script.results()]
    assert ["Paris" in contents[0], "Rome" in contents[1]] == [True, True]
    assert peer.count("SendMessage") == 2


def test_a_question_of_the_turn_is_asked_before_anything_is_handed_over(
    peer: Peer,
) -> None:
    """R7: and its answer is not the agent's."""
    peer.on("SendMessage", sends(ASKING), sends(DONE))
    with registered() as box:
        box.add_question("ask")
        step = delegating(peer)
        step.script.steps[0] += [("ask", "{}")]
        step.segment.run.tools += ["ask"]
        step.segment.run.save(update_fields=["tools"])

        own = step.go()
        before = peer.connections
        step.answer("blue")
        theirs = step.go()
        step.answer("1999")
        ended = step.go()

    assert own.waiting.question.text == "Which colour?"
    assert before == 0
    assert theirs.waiting.question.text == "Which year?"
    assert ended == ModelAnswer(text="done")
    (_, paris), (_, blue) = step.script.results()
    assert ("Paris" in paris, blue) == (True, "blue")
    assert peer.of("SendMessage")[-1].params["message"]["parts"] == [{"text": "1999"}]
