"""Turns of several calls: what is asked first, what waits, and what a write leaves."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group

from agent_runs import clock, deciding, lifecycle, registries
from agent_runs.effects import Effect
from agent_runs.handlers import ModelAnswer
from agent_runs.models import AgentRun, AgentRunEvent, EndReason, RunState, ToolSetting
from agent_runs.open_turn import DENIED, MOST_CALLS, TOO_MANY
from agent_runs.outcomes import Failed
from agent_runs.questions import Question, choice
from agent_runs.segment import SegmentEnded
from agent_runs.tools import registry
from agent_runs.tools.contract import Tool, ToolCall, ToolError, Write, Written
from agent_runs.transcript import Transcript
from tests import factories
from tests.agent_runs.scripted import (
    Arguments,
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
    from collections.abc import Callable, Iterator

    from agent_runs.segment import Segment
    from agent_runs.waiting import Waiting

pytestmark = pytest.mark.django_db(transaction=True)

TELLER = deciding.Teller(name="peer")


@pytest.fixture
def toolbox() -> Iterator[Toolbox]:
    with registered() as box:
        yield box


def _waits(segment: Segment, script: Script, state: RunState) -> Waiting:
    """Run the segment; the run is set aside in this state, and that is shown."""
    waits = set_aside(segment, run_loop(segment, script))
    assert waits.target == state
    return waits.waiting


def _waits_for_approval(segment: Segment, script: Script) -> Any:
    return _waits(segment, script, RunState.WAITING_FOR_APPROVAL)


def _waits_for_answer(segment: Segment, script: Script) -> Any:
    return _waits(segment, script, RunState.WAITING_FOR_INPUT)


def _decided(segment: Segment, approval_id: str, *, approve: bool) -> Segment:
    """A person who may decides, and another worker goes on."""
    person = factories.make_user(is_superuser=True)
    deciding.decide(segment.run.id, approval_id, approve=approve, user=person)
    return claim(segment.run)


def _answered(segment: Segment, given: str) -> Segment:
    deciding.answer(segment.run.id, given, by=TELLER)
    return claim(segment.run)


def _kinds(segment: Segment) -> list[str]:
    events = segment.run.events.order_by("sequence")
    return list(events.values_list("kind", flat=True))


# --- Approvals ------------------------------------------------------------------------


def test_a_person_is_shown_the_calls_that_need_approval_and_nothing_else(
    toolbox: Toolbox,
) -> None:
    """T11: tool, exact arguments and preview."""
    toolbox.add("look")
    toolbox.add("write", needs_approval=True, preview=lambda call: "old → new")
    turn = [("look", '{"value": 1}'), ("write", '{"value":  2}')]

    shown = _waits_for_approval(new_segment("look", "write"), Script(turn, "done"))

    [call] = shown.calls
    assert (call.tool, call.arguments) == ("write", '{"value":  2}')
    assert call.preview == "old → new"
    assert toolbox.ran == []


@pytest.mark.parametrize(
    "arguments", ['{"value": "x"}', '{"value": ', "[]"], ids=["type", "cut", "a list"]
)
def test_arguments_that_do_not_fit_are_not_shown_for_approval(
    toolbox: Toolbox, arguments: str
) -> None:
    """T11: the model is told, and nobody is bothered."""
    toolbox.add("write", needs_approval=True)
    script = Script([("write", arguments)], "done")

    ended = run_loop(new_segment("write"), script)

    assert ended == ModelAnswer(text="done")
    assert [outcome for outcome, _ in script.results()] == ["failed"]
    assert toolbox.ran == []


def test_a_call_that_does_not_fit_leaves_the_other_ones_to_be_approved(
    toolbox: Toolbox,
) -> None:
    """T11, T12: the verdict covers the turn; what cannot run is told to the model."""
    toolbox.add("write", needs_approval=True)
    script = Script([("write", '{"value": "x"}'), ("write", '{"value": 2}')], "done")
    segment = new_segment("write")

    shown = _waits_for_approval(segment, script)
    ended = run_loop(_decided(segment, shown.id, approve=True), script)

    assert [call.arguments for call in shown.calls] == ['{"value": 2}']
    assert ended == ModelAnswer(text="done")
    assert toolbox.ran == [("write", 2)]
    assert [outcome for outcome, _ in script.results()] == ["failed", "success"]


def test_an_approved_turn_runs_whole_and_in_its_order(toolbox: Toolbox) -> None:
    """T12."""
    toolbox.add("look")
    toolbox.add("write", needs_approval=True)
    turn = [("look", '{"value": 1}'), ("write", '{"value": 2}')]
    script = Script([*turn, ("look", '{"value": 3}')], "done")
    segment = new_segment("look", "write")

    shown = _waits_for_approval(segment, script)
    ended = run_loop(_decided(segment, shown.id, approve=True), script)

    assert ended == ModelAnswer(text="done")
    assert toolbox.ran == [("look", 1), ("write", 2), ("look", 3)]


def test_a_denial_covers_the_whole_turn(toolbox: Toolbox) -> None:
    """T12, T14: nothing of it runs, nothing of it is asked, and the model goes on."""
    toolbox.add("look")
    toolbox.add_question("ask")
    toolbox.add("write", needs_approval=True)
    turn = [("look", "{}"), ("ask", "{}"), ("write", "{}"), ("nothing", "{}")]
    script = Script(turn, "fine without")
    segment = new_segment("look", "ask", "write")

    shown = _waits_for_approval(segment, script)
    ended = run_loop(_decided(segment, shown.id, approve=False), script)

    assert ended == ModelAnswer(text="fine without")
    assert script.results() == [("denied", DENIED)] * 4
    assert toolbox.ran == []


def test_a_denial_holds_for_its_turn_only(toolbox: Toolbox) -> None:
    """T14: what the model tries next is decided anew, whatever ids it gives."""
    toolbox.add("write", needs_approval=True)
    first, second = [("write", '{"value": 1}')], [("write", '{"value": 2}')]
    script = Script(first, second, "done", call_id="same-{index}")
    segment = new_segment("write")

    shown = _waits_for_approval(segment, script)
    segment = _decided(segment, shown.id, approve=False)
    again = _waits_for_approval(segment, script)
    ended = run_loop(_decided(segment, again.id, approve=True), script)

    assert ended == ModelAnswer(text="done")
    assert toolbox.ran == [("write", 2)]


def test_a_verdict_does_not_hold_for_a_later_turn_that_is_the_same(
    toolbox: Toolbox,
) -> None:
    """T12: somebody who decides twice decides about the first one only."""
    toolbox.add("write", needs_approval=True)
    script = Script([("write", "{}")], [("write", "{}")], "done", call_id="same")
    segment = new_segment("write")
    shown = _waits_for_approval(segment, script)
    segment = _decided(segment, shown.id, approve=True)

    again = _waits_for_approval(segment, script)

    assert again.id != shown.id
    with pytest.raises(deciding.SomethingElse):
        _decided(segment, shown.id, approve=True)


class Shelf:
    """What a writer would change; a preview tells what is there."""

    def __init__(self) -> None:
        self.holds = "a"

    def preview(self, call: ToolCall) -> str:
        return f"{self.holds} → b"


def test_a_preview_that_changed_meanwhile_waits_again_and_nothing_runs(
    toolbox: Toolbox,
) -> None:
    """T13."""
    shelf = Shelf()
    toolbox.add("look")
    toolbox.add("write", needs_approval=True, preview=shelf.preview)
    script = Script([("look", "{}"), ("write", "{}")], "done")
    segment = new_segment("look", "write")
    shown = _waits_for_approval(segment, script)

    segment = _decided(segment, shown.id, approve=True)
    shelf.holds = "c"
    again = _waits_for_approval(segment, script)

    assert toolbox.ran == []
    assert [call.preview for call in again.calls] == ["c → b"]
    assert again.id != shown.id
    with pytest.raises(deciding.SomethingElse):
        _decided(segment, shown.id, approve=True)

    ended = run_loop(_decided(segment, again.id, approve=True), script)

    assert ended == ModelAnswer(text="done")
    assert toolbox.ran == [("look", 0), ("write", 0)]
    assert len(script.seen) == 2


def test_a_new_preview_can_be_denied_though_the_old_one_was_approved(
    toolbox: Toolbox,
) -> None:
    """T12, T13."""
    shelf = Shelf()
    toolbox.add("write", needs_approval=True, preview=shelf.preview)
    script = Script([("write", "{}")], "done")
    segment = new_segment("write")
    shown = _waits_for_approval(segment, script)
    segment = _decided(segment, shown.id, approve=True)
    shelf.holds = "c"

    again = _waits_for_approval(segment, script)
    ended = run_loop(_decided(segment, again.id, approve=False), script)

    assert ended == ModelAnswer(text="done")
    assert script.results() == [("denied", DENIED)]
    assert toolbox.ran == []


def test_what_the_turn_itself_changes_is_not_approved_twice(toolbox: Toolbox) -> None:
    """T13: a turn that died half way goes on, though its first write changed previews."""
    shelf = Shelf()
    deaths = iter([True, False])

    def write(call: ToolCall) -> Written:
        assert isinstance(call.arguments, Arguments)
        if call.arguments.value == 2 and next(deaths):
            raise KilledError
        shelf.holds = "c"
        return _made_group(call)

    toolbox.add_writer("write", write, needs_approval=True, preview=shelf.preview)
    script = Script([("write", '{"value": 1}'), ("write", '{"value": 2}')], "done")
    segment = new_segment("write")
    shown = _waits_for_approval(segment, script)
    segment = _decided(segment, shown.id, approve=True)
    with pytest.raises(KilledError):
        run_loop(segment, script)

    ended = run_loop(after_a_death(segment), script)

    assert ended == ModelAnswer(text="done")
    assert _groups() == ["group 1", "group 2"]


def test_a_tool_that_needs_approval_by_now_is_approved_also_within_a_turn(
    toolbox: Toolbox,
) -> None:
    """T2, R7: nobody was asked about the turn, and a worker died in it."""
    toolbox.add("read")
    toolbox.add("send", says=KilledError())
    script = Script([("read", "{}"), ("send", "{}")], "done")
    segment = new_segment("read", "send")
    with pytest.raises(KilledError):
        run_loop(segment, script)
    ToolSetting.objects.create(name="send", requires_approval=True)
    segment = after_a_death(segment)
    toolbox.ran.clear()

    approval = _waits_for_approval(segment, script)

    assert [call.tool for call in approval.calls] == ["send"]
    assert toolbox.ran == []


def test_the_verdict_is_an_event_that_names_who_gave_it(toolbox: Toolbox) -> None:
    """T12, R15."""
    toolbox.add("write", needs_approval=True, preview=lambda call: "old → new")
    script = Script([("write", '{"value": 2}')], "done")
    segment = new_segment("write")
    person = factories.make_user("judge", is_superuser=True)

    shown = _waits_for_approval(segment, script)
    deciding.decide(segment.run.id, shown.id, approve=True, user=person)

    asked, given = segment.run.events.filter(kind="approval").order_by("sequence")
    assert asked.facts == {"waiting": True, "tools": ["write"]}
    assert asked.content == 'write {"value": 2}\nold → new'
    assert (given.facts["approved"], given.facts["by"]) == (True, "judge")


# --- Questions ------------------------------------------------------------------------


def _ask_choice(arguments: Arguments) -> Question:
    """One option is none: this cannot be asked."""
    options = [f"option {number}" for number in range(arguments.value)]
    return choice(f"Which of {arguments.value}?", options, allow_free_text=False)


def test_arguments_that_make_no_question_are_a_result_and_nobody_is_asked(
    toolbox: Toolbox,
) -> None:
    """T7."""
    toolbox.add_question("ask", ask=_ask_choice)
    script = Script([("ask", '{"value": 1}')], "done")

    ended = run_loop(new_segment("ask"), script)

    assert ended == ModelAnswer(text="done")
    assert script.results() == [
        ("failed", "This cannot be asked: a choice has 2 to 10 options.")
    ]


def test_a_call_that_makes_no_question_does_not_keep_the_next_from_being_asked(
    toolbox: Toolbox,
) -> None:
    """T7."""
    toolbox.add_question("ask", ask=_ask_choice)
    turn = [("ask", '{"value": 1}'), ("ask", '{"value": "x"}'), ("ask", '{"value": 2}')]
    script = Script(turn, "done")
    segment = new_segment("ask")

    asked = _waits_for_answer(segment, script)
    ended = run_loop(_answered(segment, "option 1"), script)

    assert asked.question.text == "Which of 2?"
    assert ended == ModelAnswer(text="done")
    assert [outcome for outcome, _ in script.results()] == [
        "failed",
        "failed",
        "success",
    ]
    assert script.results()[-1] == ("success", "option 1")


def test_two_questions_of_a_turn_are_asked_one_after_another(
    toolbox: Toolbox,
) -> None:
    """R7, T9: nothing runs before both are answered, and each answer finds its call."""
    toolbox.add("look")
    toolbox.add_question("ask", ask=_ask_choice)
    turn = [("ask", '{"value": 2}'), ("look", "{}"), ("ask", '{"value": 3}')]
    script = Script(turn, "done")
    segment = new_segment("ask", "look")

    first = _waits_for_answer(segment, script)
    segment = _answered(segment, "option 1")
    second = _waits_for_answer(segment, script)

    assert [asked.question.text for asked in (first, second)] == [
        "Which of 2?",
        "Which of 3?",
    ]
    assert toolbox.ran == []
    with pytest.raises(deciding.SomethingElse):
        deciding.answer(segment.run.id, "option 1", by=TELLER, question_id=first.id)

    ended = run_loop(_answered(segment, "option 2"), script)

    assert ended == ModelAnswer(text="done")
    assert [content for _, content in script.results()] == [
        "option 1",
        "ok",
        "option 2",
    ]
    assert len(script.seen) == 2


def test_the_same_question_twice_in_a_turn_is_two_questions(toolbox: Toolbox) -> None:
    """T9: a late answer to the first is none to the second."""
    toolbox.add_question("ask")
    script = Script([("ask", "{}"), ("ask", "{}")], "done")
    segment = new_segment("ask")

    first = _waits_for_answer(segment, script)
    segment = _answered(segment, "red")
    second = _waits_for_answer(segment, script)
    ended = run_loop(_answered(segment, "blue"), script)

    assert first.id != second.id
    assert ended == ModelAnswer(text="done")
    assert script.results() == [("success", "red"), ("success", "blue")]


def test_a_question_of_a_later_turn_is_not_answered_by_an_earlier_answer(
    toolbox: Toolbox,
) -> None:
    """T9: also where the model gives every call the same id."""
    toolbox.add_question("ask")
    script = Script([("ask", "{}")], [("ask", "{}")], "done", call_id="same")
    segment = new_segment("ask")

    first = _waits_for_answer(segment, script)
    segment = _answered(segment, "red")
    second = _waits_for_answer(segment, script)
    ended = run_loop(_answered(segment, "blue"), script)

    assert first.id != second.id
    assert ended == ModelAnswer(text="done")
    assert script.results() == [("success", "blue")]


def test_an_approved_turn_is_not_approved_again_for_its_question(
    toolbox: Toolbox,
) -> None:
    """R7: approvals first, then questions, then everything."""
    shelf = Shelf()
    toolbox.add_question("ask")
    toolbox.add("write", needs_approval=True, preview=shelf.preview)
    script = Script([("ask", "{}"), ("write", "{}")], "done")
    segment = new_segment("ask", "write")

    shown = _waits_for_approval(segment, script)
    segment = _decided(segment, shown.id, approve=True)
    _waits_for_answer(segment, script)
    ended = run_loop(_answered(segment, "blue"), script)

    assert ended == ModelAnswer(text="done")
    assert script.results() == [("success", "blue"), ("success", "ok")]
    assert _kinds(segment)[1:6] == [
        "approval",
        "approval",
        "question",
        "answer",
        "tool",
    ]


def test_a_preview_that_changes_while_a_question_waits_is_approved_again(
    toolbox: Toolbox,
) -> None:
    """T13: and the answer is kept."""
    shelf = Shelf()
    toolbox.add_question("ask")
    toolbox.add("write", needs_approval=True, preview=shelf.preview)
    script = Script([("ask", "{}"), ("write", "{}")], "done")
    segment = new_segment("ask", "write")
    shown = _waits_for_approval(segment, script)
    segment = _decided(segment, shown.id, approve=True)
    _waits_for_answer(segment, script)
    segment = _answered(segment, "blue")
    shelf.holds = "c"

    again = _waits_for_approval(segment, script)
    ended = run_loop(_decided(segment, again.id, approve=True), script)

    assert ended == ModelAnswer(text="done")
    assert script.results() == [("success", "blue"), ("success", "ok")]


# --- Questions and the answer level ---------------------------------------------------


def _segment_at(level: str, *tools: str) -> Segment:
    return new_segment(*tools, provider=factories.make_provider(answer_level=level))


@pytest.mark.parametrize("level", ["none", "metadata"])
def test_nothing_is_asked_where_nothing_may_be_kept(
    toolbox: Toolbox, level: str
) -> None:
    """R16."""
    toolbox.add("look")
    toolbox.add_question("ask")

    ended = run_loop(
        _segment_at(level, "look", "ask"), Script([("look", "{}"), ("ask", "{}")], "")
    )

    assert isinstance(ended, Failed)
    assert ended.reason == EndReason.POLICY_DENIED
    assert toolbox.ran == []


def test_a_redacted_question_is_masked(toolbox: Toolbox) -> None:
    """R16: where it waits, and in the run's history."""
    toolbox.add_question("ask", Question(text="Is it api_key=abc12345?"))
    script = Script([("ask", "{}")], "done")
    segment = _segment_at("redacted", "ask")

    asked = _waits_for_answer(segment, script)
    ended = run_loop(_answered(segment, "yes"), script)

    assert asked.question.text == "Is it api_key=[redacted]"
    assert ended == ModelAnswer(text="done")
    assert "abc12345" not in str([event.content for event in segment.run.events.all()])


def test_an_option_that_would_be_masked_cannot_be_asked(toolbox: Toolbox) -> None:
    """R16, T7: nobody could choose it; the model is told."""
    question = choice("Which?", ["blue", "password=abc12345"], allow_free_text=False)
    toolbox.add_question("ask", question)
    script = Script([("ask", "{}")], "done")

    ended = run_loop(_segment_at("redacted", "ask"), script)

    assert ended == ModelAnswer(text="done")
    [(outcome, content)] = script.results()
    assert outcome == "failed"
    assert "an option holds something secret" in content


# --- Writes ---------------------------------------------------------------------------


def _made_group(call: ToolCall) -> Written:
    assert isinstance(call.arguments, Arguments)
    group = Group.objects.create(name=f"group {call.arguments.value}")
    return Written(content=f"made {group.name}", writes=(_write_of(group),))


def _write_of(group: Group) -> Write:
    return Write(kind="create", model="auth.group", object_id=str(group.pk))


def _groups() -> list[str]:
    return list(Group.objects.order_by("name").values_list("name", flat=True))


def _stored(segment: Segment) -> AgentRun:
    return AgentRun.objects.get(id=segment.run.id)


def _raises(error: BaseException) -> Callable[[ToolCall], Written]:
    """Writes, and then does not come to an end."""

    def write(call: ToolCall) -> Written:
        _made_group(call)
        raise error

    return write


WRITE_ONE = [("write", '{"value": 1}')]


def test_a_write_leaves_its_event_and_the_result_in_the_checkpoint(
    toolbox: Toolbox,
) -> None:
    """R13, T17."""
    toolbox.add_writer("write", _made_group)
    toolbox.add("stop", says=KilledError())
    segment = new_segment("write", "stop")

    with pytest.raises(KilledError):
        run_loop(segment, Script([*WRITE_ONE, ("stop", "{}")], "done"))

    stored = _stored(segment)
    assert stored.checkpoint
    [result] = Transcript.load(stored.checkpoint).journal
    assert (result.content, stored.has_effects) == ("made group 1", True)
    assert _kinds(segment) == ["model", "write", "tool"]
    assert segment.run.events.get(kind="write").facts == {
        "tool": "write",
        "kind": "create",
        "model": "auth.group",
        "object_id": str(Group.objects.get().pk),
        "draft_id": "",
        "workspace": "",
    }


def test_a_write_is_not_repeated_after_a_crash(toolbox: Toolbox) -> None:
    """R12, R13: its result is taken from the checkpoint."""
    toolbox.add_writer("write", _made_group)
    deaths = iter([KilledError(), "ok"])

    async def stop(call: ToolCall) -> str:
        if isinstance(told := next(deaths), KilledError):
            raise told
        return str(told)

    toolbox.tools.append(
        Tool(
            name="stop",
            description="stop",
            parameters=Arguments,
            effect=Effect.READ_ONLY,
            execute=stop,
        )
    )
    script = Script([*WRITE_ONE, ("stop", "{}")], "done")
    segment = new_segment("write", "stop")
    with pytest.raises(KilledError):
        run_loop(segment, script)

    ended = run_loop(after_a_death(segment), script)

    assert ended == ModelAnswer(text="done")
    assert (_groups(), toolbox.ran) == (["group 1"], [("write", 1)])
    assert script.results()[0] == ("success", "made group 1")
    assert segment.run.events.filter(kind="write").count() == 1


def test_a_write_that_died_with_its_transaction_is_made_once_by_the_next_worker(
    toolbox: Toolbox,
) -> None:
    """R12: nothing of the first attempt is there."""
    toolbox.add_writer("write", _raises(KilledError()))
    script = Script(WRITE_ONE, "done")
    segment = new_segment("write")
    with pytest.raises(KilledError):
        run_loop(segment, script)
    assert (_groups(), _stored(segment).has_effects) == ([], False)
    toolbox.tools.clear()
    toolbox.add_writer("write", _made_group)

    ended = run_loop(after_a_death(segment), script)

    assert ended == ModelAnswer(text="done")
    assert _groups() == ["group 1"]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ToolError("The title is taken."), "The title is taken."),
        (RuntimeError("postgres://u:pw@db/x"), "The tool failed."),
    ],
    ids=["refuses", "raises"],
)
def test_a_writer_that_raises_leaves_nothing(
    toolbox: Toolbox, error: Exception, told: str
) -> None:
    """R6, R13: also nothing that it wrote before."""
    toolbox.add_writer("write", _raises(error))
    script = Script(WRITE_ONE, "done")
    segment = new_segment("write")

    ended = run_loop(segment, script)

    assert ended == ModelAnswer(text="done")
    assert script.results() == [("failed", told)]
    assert (_groups(), _stored(segment).has_effects) == ([], False)
    assert _kinds(segment) == ["model", "tool", "model"]


def test_a_writer_that_wrote_nothing_has_no_effects(toolbox: Toolbox) -> None:
    """T17: no write event either."""
    toolbox.add_writer("write", lambda call: Written(content="as it was", writes=()))
    script = Script(WRITE_ONE, "done")
    segment = new_segment("write")

    ended = run_loop(segment, script)

    assert ended == ModelAnswer(text="done")
    assert script.results() == [("success", "as it was")]
    assert not _stored(segment).has_effects
    assert not segment.run.has_effects
    assert _kinds(segment) == ["model", "tool", "model"]


def test_a_write_whose_event_cannot_be_stored_does_not_happen(
    toolbox: Toolbox,
) -> None:
    """R13."""

    def write(call: ToolCall) -> Written:
        _made_group(call)
        return Written(content="made", writes=(Write(kind=object(), model="x.y"),))  # type: ignore[arg-type]

    toolbox.add_writer("write", write)
    segment = new_segment("write")

    with pytest.raises(TypeError):
        run_loop(segment, Script(WRITE_ONE, "done"))

    assert (_groups(), _kinds(segment)) == ([], ["model"])
    assert not _stored(segment).has_effects


def test_a_write_of_a_segment_that_lost_its_lease_does_not_happen(
    toolbox: Toolbox,
) -> None:
    """R9, R13: whoever has the row by now writes it."""

    def write(call: ToolCall) -> Written:
        AgentRun.objects.filter(id=call.run.id).update(lease_owner="other")
        return _made_group(call)

    toolbox.add_writer("write", write)
    segment = new_segment("write")

    with pytest.raises(SegmentEnded):
        run_loop(segment, Script(WRITE_ONE, "done"))

    assert (_groups(), _kinds(segment)) == ([], ["model"])


def test_a_canceled_run_begins_no_write(toolbox: Toolbox) -> None:
    """R14: the row is looked at first of all, within the transaction."""
    toolbox.add_writer("write", _made_group)
    segment = new_segment("write")
    looks = iter([False, True])

    def canceled_meanwhile() -> list[Tool]:
        """Tools are looked up when the segment begins, and just before the call."""
        if next(looks):
            lifecycle.cancel(segment.run.id)
        return []

    registry.register_provider(canceled_meanwhile)
    try:
        with pytest.raises(SegmentEnded):
            run_loop(segment, Script(WRITE_ONE, "done"))
    finally:
        registry.unregister_provider(canceled_meanwhile)

    assert (_groups(), toolbox.ran) == ([], [])


def test_a_denied_writer_writes_nothing(toolbox: Toolbox) -> None:
    """T12."""
    toolbox.add_writer("write", _made_group, needs_approval=True)
    script = Script(WRITE_ONE, "fine without")
    segment = new_segment("write")

    shown = _waits_for_approval(segment, script)
    ended = run_loop(_decided(segment, shown.id, approve=False), script)

    assert ended == ModelAnswer(text="fine without")
    assert (_groups(), toolbox.ran) == ([], [])
    assert not _stored(segment).has_effects


def test_several_writes_of_one_call_are_events_of_their_own(toolbox: Toolbox) -> None:
    """T17."""

    def write(call: ToolCall) -> Written:
        made = [Group.objects.create(name=f"group {number}") for number in (1, 2)]
        return Written(content="made", writes=tuple(map(_write_of, made)))

    toolbox.add_writer("write", write)
    segment = new_segment("write")

    run_loop(segment, Script(WRITE_ONE, "done"))

    assert _kinds(segment) == ["model", "write", "write", "tool", "model"]


# --- Writes outside the database ------------------------------------------------------


def test_a_call_that_may_not_repeat_says_nothing_of_the_next_turns_calls(
    toolbox: Toolbox,
) -> None:
    """R12: models may give the calls of every turn the same ids."""
    toolbox.add("post", effect=Effect.NON_IDEMPOTENT_WRITE)
    script = Script([("post", "{}")], [("post", "{}")], "done", call_id="same")

    ended = run_loop(new_segment("post"), script)

    assert ended == ModelAnswer(text="done")
    assert toolbox.ran == [("post", 0)] * 2


def test_arguments_that_do_not_fit_begin_no_write(toolbox: Toolbox) -> None:
    """R12: nothing was done, so nothing is uncertain."""
    toolbox.add("post", effect=Effect.NON_IDEMPOTENT_WRITE)
    script = Script([("post", '{"value": "x"}')], "done")
    segment = new_segment("post")

    ended = run_loop(segment, script)

    assert ended == ModelAnswer(text="done")
    assert [outcome for outcome, _ in script.results()] == ["failed"]
    assert not _stored(segment).has_effects


def test_the_calls_after_a_write_are_in_the_checkpoint_one_by_one(
    toolbox: Toolbox,
) -> None:
    """R8: another worker runs only what is missing."""
    toolbox.add_writer("write", _made_group)
    deaths = iter([True, False])

    def dying(call: ToolCall) -> Written:
        if next(deaths):
            raise KilledError
        return _made_group(call)

    toolbox.add_writer("later", dying)
    turn = [("write", '{"value": 1}'), ("later", '{"value": 2}')]
    script = Script([*turn, ("write", '{"value": 3}')], "done")
    segment = new_segment("write", "later")
    with pytest.raises(KilledError):
        run_loop(segment, script)

    run_loop(after_a_death(segment), script)

    assert _groups() == ["group 1", "group 2", "group 3"]
    written = segment.run.events.filter(kind="write").order_by("sequence")
    assert [json.dumps(event.facts["tool"]) for event in written] == [
        '"write"',
        '"later"',
        '"write"',
    ]


def test_a_turn_of_very_many_calls_is_run_in_part(toolbox: Toolbox) -> None:
    """R6: the model hears of the rest, and nobody is asked about it."""
    toolbox.add("read")
    toolbox.add_question("ask")
    calls = [("read", "{}")] * MOST_CALLS + [("read", "{}"), ("ask", "{}")]
    script = Script(calls, "done")

    ended = run_loop(new_segment("read", "ask"), script)

    assert ended == ModelAnswer(text="done")
    assert len(toolbox.ran) == MOST_CALLS
    assert script.results()[-3:] == [
        ("success", "ok"),
        ("failed", TOO_MANY),
        ("failed", TOO_MANY),
    ]


def test_a_writer_asks_the_guards_once_more(toolbox: Toolbox) -> None:
    """T3, S73: a segment may be long, and a skill may lose its tools meanwhile."""
    toolbox.add_writer("write", _made_group)
    told: list[str | None] = [None]

    def guard(run: AgentRun) -> str | None:
        return told[0]

    toolbox.add("look", says="ok")
    registries.register_segment_guard(guard)
    segment = new_segment("look", "write")
    script = Script([("look", "{}")], WRITE_ONE, "done")
    [_, look] = toolbox.tools
    toolbox.tools[1] = dataclasses.replace(look, execute=_withdrawing(told))
    try:
        ended = run_loop(segment, script)
    finally:
        registries.segment_guards.remove(guard)

    assert ended == ModelAnswer(text="done")
    assert (_groups(), script.results()) == (
        [],
        [("failed", "There is no tool «write» here.")],
    )


def _withdrawing(told: list[str | None]) -> Callable[[ToolCall], str]:
    def execute(call: ToolCall) -> str:
        told[0] = "The skill may write no more."
        return "withdrawn"

    return execute


def _dangling(call: ToolCall) -> Written:
    """A reference to nothing, which the database looks at when it commits."""
    AgentRunEvent.objects.create(
        run_id=uuid4(), sequence=1, kind="tool", created_at=clock.database_now()
    )
    return Written(content="never", writes=(Write(kind="create", model="x.y"),))


def test_a_write_that_the_commit_refuses_is_a_result_for_the_model(
    toolbox: Toolbox,
) -> None:
    """R6, R13: nothing of it is there, no event and no effect."""
    toolbox.add_writer("write", _dangling)
    segment = new_segment("write")
    script = Script(WRITE_ONE, "done")

    ended = run_loop(segment, script)

    assert ended == ModelAnswer(text="done")
    assert script.results() == [("failed", "The tool failed.")]
    run = AgentRun.objects.get(id=segment.run.id)
    assert not run.has_effects
    assert "write" not in set(run.events.values_list("kind", flat=True))
