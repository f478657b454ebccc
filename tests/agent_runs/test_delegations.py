"""Calls that are handed to somebody else, as a run sees them (R2, R11, R12, C5, C6)."""

from __future__ import annotations

import asyncio
import dataclasses
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import pytest

from agent_runs import clock, deciding, delegations, lifecycle, queue, waiting
from agent_runs.handlers import ModelAnswer
from agent_runs.models import AgentRun, AgentRunEvent, EndReason, RunState
from agent_runs.models.llm import AnswerLevel
from agent_runs.outcomes import Failed, Suspended
from agent_runs.questions import Question, choice
from agent_runs.segment import Ending, Segment, SegmentEnded
from agent_runs.tools import gate
from agent_runs.tools.contract import ToolCall, ToolError
from agent_runs.tools.progress import Asking, Done, StillRunning
from agent_runs.transcript import Transcript
from tests import factories
from tests.agent_runs import locking
from tests.agent_runs.scripted import (
    KilledError,
    Script,
    Toolbox,
    after_a_death,
    new_segment,
    registered,
    run_loop,
    set_aside,
)
from tests.agent_runs.segments import claim

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_runs.tools.progress import Progress

pytestmark = pytest.mark.django_db(transaction=True)

TELLER = deciding.Teller(name="partner")
WAITS = StillRunning(waiting_id="W1", facts={"agent": "desk"})
ASKS = Asking(question=Question(text="Why?"), key="K1")
DONE = Done(content="Paris", facts={"state": "completed"})


class Partner:
    """Somebody else: says one thing at each call, the last one for ever."""

    def __init__(self, *said: Progress | BaseException) -> None:
        self.said = list(said)
        self.calls: list[ToolCall] = []

    async def __call__(self, call: ToolCall) -> Progress:
        self.calls.append(call)
        said = self.said.pop(0) if len(self.said) > 1 else self.said[0]
        if isinstance(said, BaseException):
            raise said
        return said


@pytest.fixture
def box() -> Iterator[Toolbox]:
    with registered() as box:
        yield box


def handing_to(box: Toolbox, partner: Partner) -> Segment:
    box.add_delegation("hand", partner)
    segment = new_segment("hand")
    segment.run.workspace = factories.make_workspace()
    segment.run.save(update_fields=["workspace"])
    return segment


def again(segment: Segment, owner: str = "next") -> Segment:
    return claim(AgentRun.objects.get(pk=segment.run.pk), owner=owner)


def stored(segment: Segment) -> AgentRun:
    return AgentRun.objects.get(pk=segment.run.pk)


# --- Waiting and going on -------------------------------------------------------------


def test_a_call_that_is_done_at_once_is_a_result(box: Toolbox) -> None:
    segment = handing_to(box, Partner(DONE))
    script = Script([("hand", "{}")], "done")

    assert run_loop(segment, script) == ModelAnswer(text="done")
    assert script.results() == [("success", "Paris")]


def test_a_call_that_goes_wrong_is_an_error_result(box: Toolbox) -> None:
    segment = handing_to(box, Partner(Done(content="Nobody home.", is_error=True)))
    script = Script([("hand", "{}")], "done")

    run_loop(segment, script)

    assert script.results() == [("failed", "Nobody home.")]


def test_a_run_waits_for_what_still_goes_on(box: Toolbox) -> None:
    """R2: and the call is made again for the same id after the wait."""
    partner = Partner(WAITS, DONE)
    segment = handing_to(box, partner)
    script = Script([("hand", "{}")], "done")

    waits = set_aside(segment, run_loop(segment, script))
    woken = delegations.wake(segment.run.pk, "W1")
    ended = run_loop(again(segment), script)

    assert waits.target == RunState.WAITING_FOR_REMOTE
    assert isinstance(waits.waiting, waiting.OpenDelegation)
    assert woken is True
    assert ended == ModelAnswer(text="done")
    assert {call.call_id for call in partner.calls} == {"c1-0"}
    assert len(partner.calls) == 2
    assert len(script.seen) == 2


def test_only_what_is_waited_for_wakes_a_run_and_only_once(box: Toolbox) -> None:
    """R2."""
    segment = handing_to(box, Partner(WAITS))
    assert delegations.wake(segment.run.pk, "W1") is False
    set_aside(segment, run_loop(segment, Script([("hand", "{}")], "done")))

    assert delegations.wake(segment.run.pk, "W2") is False
    assert delegations.wake(factories.make_run().pk, "W1") is False
    assert delegations.wake(segment.run.pk, "W1") is True
    assert delegations.wake(segment.run.pk, "W1") is False
    assert stored(segment).state == RunState.QUEUED


def test_of_many_that_wake_a_run_one_does(box: Toolbox, postgresql: str) -> None:
    """R2."""
    segment = handing_to(box, Partner(WAITS))
    set_aside(segment, run_loop(segment, Script([("hand", "{}")], "done")))

    with ThreadPoolExecutor(4) as threads:
        wake = partial(delegations.wake, segment.run.pk, "W1")
        both = [threads.submit(locking.with_own_connection, wake) for _ in range(4)]
        woken = [one.result() for one in both]

    assert woken.count(True) == 1


def test_a_wake_that_came_too_early_waits_again(box: Toolbox) -> None:
    """Nothing is handed over with it."""
    partner = Partner(WAITS, WAITS, DONE)
    segment = handing_to(box, partner)
    script = Script([("hand", "{}")], "done")

    for _ in range(2):
        set_aside(segment, run_loop(segment, script))
        assert delegations.wake(segment.run.pk, "W1")
        segment = again(segment)

    assert run_loop(segment, script) == ModelAnswer(text="done")
    assert script.results() == [("success", "Paris")]


def test_a_run_that_ended_is_not_woken(box: Toolbox) -> None:
    """R3."""
    segment = handing_to(box, Partner(WAITS))
    set_aside(segment, run_loop(segment, Script([("hand", "{}")], "done")))
    lifecycle.cancel(segment.run.pk)

    assert delegations.wake(segment.run.pk, "W1") is False
    assert stored(segment).state == RunState.CANCELED


# --- Questions ------------------------------------------------------------------------


def test_an_answer_is_there_when_the_call_is_made_again(box: Toolbox) -> None:
    """C8: under the question's own key."""
    partner = Partner(ASKS, DONE)
    segment = handing_to(box, partner)
    script = Script([("hand", "{}")], "done")

    waits = set_aside(segment, run_loop(segment, script))
    deciding.answer(segment.run.pk, "So.", by=TELLER)
    ended = run_loop(again(segment), script)

    assert waits.target == RunState.WAITING_FOR_INPUT
    assert ended == ModelAnswer(text="done")
    assert dict(partner.calls[0].answers) == {}
    assert partner.calls[1].answers["K1"].text == "So."


def test_the_same_words_under_another_key_are_another_question(box: Toolbox) -> None:
    """T9."""
    other = Asking(question=ASKS.question, key="K2")
    segment = handing_to(box, Partner(ASKS, other))
    script = Script([("hand", "{}")], "done")

    first = set_aside(segment, run_loop(segment, script))
    deciding.answer(segment.run.pk, "So.", by=TELLER)
    second = run_loop(again(segment), script)

    assert isinstance(second, Suspended)
    assert first.waiting.id != second.waiting.id


def test_a_question_that_cannot_be_shown_is_an_error_result(box: Toolbox) -> None:
    """R16: an option that would be masked could not be chosen."""
    options = ["password=hunter22", "other"]
    asked = Asking(question=choice("Which?", options, allow_free_text=False), key="K")
    segment = handing_to(box, Partner(asked))
    segment.level = AnswerLevel.REDACTED
    script = Script([("hand", "{}")], "done")

    run_loop(segment, script)

    assert script.results() == [("failed", delegations.CANNOT_BE_ASKED)]


@pytest.mark.parametrize("level", ["none", "metadata"])
def test_nothing_is_asked_where_nothing_may_be_kept(box: Toolbox, level: str) -> None:
    """R16."""
    segment = handing_to(box, Partner(ASKS))
    segment.level = AnswerLevel(level)

    ended = run_loop(segment, Script([("hand", "{}")], "done"))

    assert isinstance(ended, Failed)
    assert ended.reason == EndReason.POLICY_DENIED


# --- What goes wrong ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raised", "told"),
    [(ToolError("Too busy."), "Too busy."), (ValueError("secret"), gate.FAILED)],
)
def test_what_a_tool_raises_is_an_error_result(
    box: Toolbox, raised: Exception, told: str
) -> None:
    """R6."""
    segment = handing_to(box, Partner(raised))
    script = Script([("hand", "{}")], "done")

    run_loop(segment, script)

    assert script.results() == [("failed", told)]


def test_arguments_that_do_not_fit_are_not_handed_on(box: Toolbox) -> None:
    partner = Partner(DONE)
    segment = handing_to(box, partner)
    script = Script([("hand", '{"value": "x"}')], "done")

    run_loop(segment, script)

    ((outcome, told),) = script.results()
    assert (outcome, partner.calls) == ("failed", [])
    assert told.startswith("The arguments do not fit")
    assert not stored(segment).has_effects


def test_a_run_without_a_workspace_hands_nothing_on(box: Toolbox) -> None:
    """T15."""
    partner = Partner(DONE)
    segment = handing_to(box, partner)
    segment.run.workspace = None
    script = Script([("hand", "{}")], "done")

    run_loop(segment, script)

    assert script.results() == [("failed", "There is no workspace to write to.")]
    assert partner.calls == []


def test_a_run_has_delegated_before_anything_leaves(box: Toolbox) -> None:
    """R11: the worker dies in the call, and the run goes on from its checkpoint."""
    partner = Partner(KilledError(), DONE)
    segment = handing_to(box, partner)
    script = Script([("hand", "{}")], "done")
    with pytest.raises(KilledError):
        run_loop(segment, script)
    left = stored(segment)

    ended = run_loop(after_a_death(segment), script)

    assert left.has_effects
    assert Transcript.load(left.checkpoint or "").has_delegated
    assert ended == ModelAnswer(text="done")
    assert [call.call_id for call in partner.calls] == ["c1-0"] * 2
    assert len(script.seen) == 2


def test_a_run_that_delegated_and_lost_its_checkpoint_fails(box: Toolbox) -> None:
    """R11: it never starts over."""
    segment = handing_to(box, Partner(KilledError()))
    with pytest.raises(KilledError):
        run_loop(segment, Script([("hand", "{}")], "done"))
    expired = clock.database_now() - lifecycle.LEASE_TIME
    AgentRun.objects.update(checkpoint=None, lease_expires_at=expired)

    queue.reap()

    assert stored(segment).end_reason == EndReason.LEASE_LOST_AFTER_WRITE


def test_a_segment_that_lost_its_lease_hands_nothing_on(box: Toolbox) -> None:
    """R9: the mark is what finds out."""
    partner = Partner(DONE)
    segment = handing_to(box, partner)
    script = Script([("hand", "{}")], "done")

    def lose(call: ToolCall) -> str:
        AgentRun.objects.update(lease_owner="another")
        return "ok"

    box.add("lose")
    box.tools[-1] = dataclasses.replace(box.tools[-1], execute=lose)
    script.steps[0] = [("lose", "{}"), ("hand", "{}")]
    segment.run.tools = ["lose", "hand"]

    with pytest.raises(SegmentEnded):
        run_loop(segment, script)
    assert partner.calls == []


# --- Told -----------------------------------------------------------------------------


def test_each_step_of_a_delegation_is_an_event(box: Toolbox) -> None:
    """R15: names and states, none of the words."""
    segment = handing_to(box, Partner(WAITS, DONE))
    script = Script([("hand", "{}")], "done")
    set_aside(segment, run_loop(segment, script))
    delegations.wake(segment.run.pk, "W1")
    run_loop(again(segment), script)

    events = AgentRunEvent.objects.filter(kind="delegation").order_by("sequence")

    assert [event.facts for event in events] == [
        {"tool": "hand"},
        {"waiting": True, "tool": "hand", "agent": "desk"},
        {"tool": "hand", "state": "completed"},
    ]
    assert {event.content for event in events} == {None}


def test_a_second_call_of_a_turn_marks_nothing_again(box: Toolbox) -> None:
    segment = handing_to(box, Partner(DONE))

    run_loop(segment, Script([("hand", "{}"), ("hand", "{}")], "done"))

    begun = AgentRunEvent.objects.filter(kind="delegation", facts={"tool": "hand"})
    assert begun.count() == 1


def test_a_call_can_be_cut_short(box: Toolbox) -> None:
    """R14: the supervisor ends the segment while somebody else is asked."""

    async def endless(call: ToolCall) -> Progress:
        segment.end(Ending.GONE)
        await asyncio.Event().wait()
        raise AssertionError

    box.add_delegation("hand", endless)
    segment = new_segment("hand")
    segment.run.workspace = factories.make_workspace()

    with pytest.raises((SegmentEnded, asyncio.CancelledError)):
        run_loop(segment, Script([("hand", "{}")], "done"))
