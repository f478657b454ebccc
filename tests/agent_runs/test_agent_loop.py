"""The loop against pydantic-ai's scripted model; the ledger is real."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest
from asgiref.sync import async_to_sync
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agent_runs import clock, lifecycle
from agent_runs.agent_loop import NOT_RUN
from agent_runs.effects import Effect
from agent_runs.handlers import ModelAnswer
from agent_runs.models import AgentRun, EndReason, RunState, ToolSetting
from agent_runs.open_turn import DENIED
from agent_runs.outcomes import Failed, Suspended
from agent_runs.questions import Answer
from agent_runs.segment import Ending, Segment, SegmentEnded
from agent_runs.tools import registry
from agent_runs.tools.contract import Tool, ToolCall, ToolError
from agent_runs.transcript import Decisions
from tests import factories
from tests.agent_runs.scripted import (
    Arguments,
    KilledError,
    Script,
    Step,
    Toolbox,
    after_a_death,
    loop_of,
    new_segment,
    registered,
    run_loop,
    set_aside,
)
from tests.agent_runs.segments import claim

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from pydantic_ai.messages import ModelMessage

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def toolbox() -> Iterator[Toolbox]:
    with registered() as box:
        yield box


def test_a_text_is_the_answer() -> None:
    segment = new_segment()

    ended = run_loop(segment, Script("hello"))

    assert ended == ModelAnswer(text="hello")
    assert segment.run.rounds == 1


def test_the_system_prompt_goes_along_and_is_not_stored() -> None:
    segment = new_segment(system_prompt="be brief")
    script = Script("hello")

    run_loop(segment, script)

    assert script.seen[0][1].instructions == "be brief"
    assert "be brief" not in (segment.run.checkpoint or "")


def test_a_tool_runs_and_the_model_sees_its_result(toolbox: Toolbox) -> None:
    toolbox.add("look", says="seen")
    script = Script([("look", '{"value": 3}')], "done")

    ended = run_loop(new_segment("look"), script)

    assert ended == ModelAnswer(text="done")
    assert toolbox.ran == [("look", 3)]
    assert script.results() == [("success", "seen")]


def test_calls_of_a_turn_run_in_order(toolbox: Toolbox) -> None:
    toolbox.add("look")
    calls = [("look", f'{{"value": {n}}}') for n in (1, 2, 3)]

    run_loop(new_segment("look"), Script(calls, "done"))

    assert toolbox.ran == [("look", 1), ("look", 2), ("look", 3)]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("nothing", "{}"), "There is no tool «nothing» here."),
        (("secret", "{}"), "There is no tool «secret» here."),
        (("look", '{"value": "x"}'), "The arguments do not fit: value"),
        (("look", '{"value": '), "The arguments are not valid JSON."),
        (("broken", "{}"), "The tool failed."),
        (("refusing", "{}"), "Not today."),
    ],
    ids=["unknown", "not offered", "wrong type", "no JSON", "raises", "refuses"],
)
def test_what_goes_wrong_in_a_call_is_a_result_for_the_model(
    toolbox: Toolbox, call: tuple[str, str], told: str
) -> None:
    """R6: and the exception's text goes to the log only."""
    toolbox.add("look")
    toolbox.add("secret")
    toolbox.add("broken", says=RuntimeError("postgres://u:pw@db/x"))
    toolbox.add("refusing", says=ToolError("Not today."))
    script = Script([call], "done")

    ended = run_loop(new_segment("look", "broken", "refusing"), script)

    assert ended == ModelAnswer(text="done")
    [(outcome, content)] = script.results()
    assert outcome == "failed"
    assert content.startswith(told)


def test_a_long_result_is_cut_before_it_reaches_the_transcript(
    toolbox: Toolbox,
) -> None:
    """R6: 50,000 bytes, not characters."""
    toolbox.add("look", says="ü" * 40_000)
    script = Script([("look", "{}")], "done")

    run_loop(new_segment("look"), script)

    [(_, content)] = script.results()
    assert content.startswith("ü" * 25_000)
    assert len(content.encode()) < 50_100


def test_a_call_with_a_name_that_cannot_be_stored_is_an_error_result() -> None:
    """R6, R16, S15: PostgreSQL takes no such name, and events no long one."""
    name = "n\x00\ud800" + "what you said " * 99
    script = Script([(name, "{}")], "done")
    segment = new_segment()

    ended = run_loop(segment, script)

    assert ended == ModelAnswer(text="done")
    assert [outcome for outcome, _ in script.results()] == ["failed"]
    told = segment.run.events.get(kind="model", round=1).facts["tools"]
    assert told == [f"n\ufffd\ufffd{name[3:64]}"]


def test_a_tool_the_owner_may_not_use_is_not_offered(toolbox: Toolbox) -> None:
    """T3."""
    toolbox.add("look", permission="agent_runs.decide_run")
    script = Script([("look", "{}")], "done")

    run_loop(new_segment("look"), script)

    assert script.seen[0][1].function_tools == []
    assert toolbox.ran == []


def test_a_tool_that_is_taken_away_meanwhile_does_not_run(toolbox: Toolbox) -> None:
    """T3: enforced again when it is called."""
    toolbox.add("look")
    toolbox.add("stop")
    script = Script([("stop", "{}"), ("look", "{}")], "done")
    [_, stop] = toolbox.tools

    async def switch_off(call: ToolCall) -> str:
        await ToolSetting.objects.acreate(name="look", enabled=False)
        return "off"

    toolbox.tools[1] = dataclasses.replace(stop, execute=switch_off)

    ended = run_loop(new_segment("look", "stop"), script)

    assert ended == ModelAnswer(text="done")
    assert toolbox.ran == []
    assert script.results() == [
        ("success", "off"),
        ("failed", "There is no tool «look» here."),
    ]


# --- R5: the round limit --------------------------------------------------------------


def test_at_the_round_limit_one_call_without_tools_gives_the_answer(
    toolbox: Toolbox,
) -> None:
    toolbox.add("look")
    script = Script([("look", "{}")], [("look", "{}")], "that is all")

    ended = run_loop(new_segment("look", max_rounds=2), script)

    assert ended == ModelAnswer(text="that is all", is_truncated=True)
    assert len(toolbox.ran) == 1
    assert script.results() == [("failed", NOT_RUN)]
    _, info = script.seen[-1]
    assert info.model_settings == {"tool_choice": "none"}
    assert [tool.name for tool in info.function_tools] == ["look"]


@pytest.mark.parametrize("last", ["", "  ", [("look", "{}")]], ids=repr)
def test_a_last_answer_that_is_none_fails_the_run(toolbox: Toolbox, last: Step) -> None:
    toolbox.add("look")

    ended = run_loop(
        new_segment("look", max_rounds=1), Script([("look", "{}")], last, "too late")
    )

    assert ended == Failed(reason=EndReason.MAX_ROUNDS)


def test_an_endless_tool_loop_ends_after_twenty_rounds(toolbox: Toolbox) -> None:
    toolbox.add("look")
    script = Script([("look", "{}")])

    ended = run_loop(new_segment("look", max_rounds=20), script)

    assert ended == Failed(reason=EndReason.MAX_ROUNDS)
    assert (len(script.seen), len(toolbox.ran)) == (21, 19)


def test_an_empty_answer_fails_the_run() -> None:
    """R4: a run that ends without an answer is failed."""
    ended = run_loop(new_segment(), Script(""))

    assert isinstance(ended, Failed)
    assert ended.reason == EndReason.PROVIDER_FAILED


# --- R7: the scan ---------------------------------------------------------------------


def test_nothing_of_a_turn_runs_while_a_person_has_to_approve(
    toolbox: Toolbox,
) -> None:
    """R7, T11: approvals come first, then questions."""
    toolbox.add("look")
    toolbox.add_question("ask")
    toolbox.add("write", needs_approval=True)
    turn = [("look", "{}"), ("ask", "{}"), ("write", "{}")]

    ended = run_loop(new_segment("look", "ask", "write"), Script(turn, "done"))

    assert isinstance(ended, Suspended)
    assert ended.target == RunState.WAITING_FOR_APPROVAL
    assert toolbox.ran == []


def _decide(segment: Segment, ended: object, **decided: Any) -> Segment:
    """The run is set aside, somebody decides, and another worker goes on."""
    waits = set_aside(segment, ended)
    if "is_approved" in decided:
        decided["approval_id"] = waits.waiting.id
    assert lifecycle.resume(
        segment.run.id,
        waits.target,
        waiting_id=waits.waiting.id,
        pending=Decisions(**decided).dump(),
        now=clock.database_now(),
    )
    return claim(segment.run)


def test_an_approved_turn_goes_on_to_its_questions_and_then_runs(
    toolbox: Toolbox,
) -> None:
    toolbox.add_question("ask")
    toolbox.add("write", needs_approval=True)
    script = Script([("ask", "{}"), ("write", "{}")], "done")
    segment = new_segment("ask", "write")

    segment = _decide(segment, run_loop(segment, script), is_approved=True)
    asked = run_loop(segment, script)
    assert isinstance(asked, Suspended)
    assert (asked.target, toolbox.ran) == (RunState.WAITING_FOR_INPUT, [])

    answers = {asked.waiting.key: Answer(value="blue")}
    segment = _decide(segment, asked, answers=answers)
    ended = run_loop(segment, script)

    assert ended == ModelAnswer(text="done")
    assert toolbox.ran == [("write", 0)]
    assert script.results() == [("success", "blue"), ("success", "ok")]


def test_a_denied_turn_is_told_to_the_model_which_goes_on(toolbox: Toolbox) -> None:
    """T14."""
    toolbox.add("write", needs_approval=True)
    script = Script([("write", "{}")], "fine without")
    segment = new_segment("write")

    segment = _decide(segment, run_loop(segment, script), is_approved=False)
    ended = run_loop(segment, script)

    assert ended == ModelAnswer(text="fine without")
    assert script.results() == [("denied", DENIED)]
    assert toolbox.ran == []


# --- R8, R9: crashes and ends ---------------------------------------------------------


def test_a_second_worker_goes_on_after_the_last_model_answer(toolbox: Toolbox) -> None:
    """R8: the model is not asked again for what it has said."""
    toolbox.add("look", says="seen")
    toolbox.add("die", says="")
    script = Script([("look", "{}"), ("stop", "{}")], "done")
    first = new_segment("look", "stop")
    killing = Toolbox()
    killing.add("stop")
    registry.register_provider(killing)
    try:
        _crash_at_the_second_tool(first, script, killing)
        ended = run_loop(after_a_death(first), script)
    finally:
        registry.unregister_provider(killing)

    assert ended == ModelAnswer(text="done")
    assert toolbox.ran == [("look", 0)]
    assert len(script.seen) == 2
    assert script.results() == [("success", "seen"), ("success", "ok")]


def _crash_at_the_second_tool(
    segment: Segment, script: Script, killing: Toolbox
) -> None:
    [tool] = killing.tools

    class Killed(BaseException):
        pass

    async def die(call: ToolCall) -> str:
        raise Killed

    killing.tools = [
        Tool(
            name="stop",
            description="",
            parameters=Arguments,
            effect=Effect.READ_ONLY,
            execute=die,
        )
    ]
    with pytest.raises(Killed):
        run_loop(segment, script)
    killing.tools = [tool]


def test_a_write_is_marked_before_it_runs(toolbox: Toolbox) -> None:
    """R11: from then on the run never starts over."""
    toolbox.add("write", effect=Effect.NON_IDEMPOTENT_WRITE)
    segment = new_segment("write")

    run_loop(segment, Script([("write", "{}")], "done"))

    assert AgentRun.objects.get(id=segment.run.id).has_effects


def _kill_within(toolbox: Toolbox, effect: Effect) -> Script:
    """A first segment that dies inside its write, whatever the write did."""
    toolbox.add("write", effect=effect, says=KilledError())
    return Script([("write", "{}")], "done")


def test_a_write_that_had_begun_is_not_begun_again(toolbox: Toolbox) -> None:
    """Invariant 4, R12: nobody knows how far it got."""
    script = _kill_within(toolbox, Effect.NON_IDEMPOTENT_WRITE)
    first = new_segment("write")
    with pytest.raises(KilledError):
        run_loop(first, script)

    ended = run_loop(after_a_death(first), script)

    assert ended == Failed(reason=EndReason.LEASE_LOST_AFTER_WRITE)
    assert len(toolbox.ran) == 1


def test_an_idempotent_write_is_begun_again(toolbox: Toolbox) -> None:
    script = _kill_within(toolbox, Effect.IDEMPOTENT_WRITE)
    first = new_segment("write")
    with pytest.raises(KilledError):
        run_loop(first, script)
    toolbox.tools.clear()
    toolbox.add("write", effect=Effect.IDEMPOTENT_WRITE)

    ended = run_loop(after_a_death(first), script)

    assert ended == ModelAnswer(text="done")
    assert len(toolbox.ran) == 2


def test_a_lower_round_limit_of_a_later_segment_still_gives_the_last_call(
    toolbox: Toolbox,
) -> None:
    """R5."""
    toolbox.add("look", says=KilledError())
    script = Script([("look", "{}")], "that is all")
    first = new_segment("look", max_rounds=5)
    with pytest.raises(KilledError):
        run_loop(first, script)
    type(first.run.configuration).objects.update(max_rounds=1)

    ended = run_loop(after_a_death(first), script)

    assert ended == ModelAnswer(text="that is all", is_truncated=True)


def test_a_lower_round_limit_does_not_call_a_lost_write_not_run(
    toolbox: Toolbox,
) -> None:
    """R12: nobody knows how far it got, the model least of all."""
    toolbox.add("write", effect=Effect.NON_IDEMPOTENT_WRITE, says=KilledError())
    script = Script([("write", "{}")], "that is all")
    first = new_segment("write", max_rounds=5)
    with pytest.raises(KilledError):
        run_loop(first, script)
    type(first.run.configuration).objects.update(max_rounds=1)

    ended = run_loop(after_a_death(first), script)

    assert ended == Failed(reason=EndReason.LEASE_LOST_AFTER_WRITE)
    assert len(script.seen) == 1


def test_a_canceled_run_starts_no_further_tool(toolbox: Toolbox) -> None:
    """R14: noticed at the next checkpoint."""
    segment = new_segment("cancel", "look")

    async def cancel(call: ToolCall) -> str:
        from asgiref.sync import sync_to_async

        await sync_to_async(lifecycle.cancel)(segment.run.id)
        return "canceled"

    toolbox.add("look")
    toolbox.tools.append(
        Tool(
            name="cancel",
            description="",
            parameters=Arguments,
            effect=Effect.READ_ONLY,
            execute=cancel,
        )
    )

    with pytest.raises(SegmentEnded):
        run_loop(segment, Script([("cancel", "{}"), ("look", "{}")], "done"))

    assert toolbox.ran == []


def test_an_end_during_a_model_call_interrupts_it() -> None:
    """R14: within a second, however long the model would take."""
    import asyncio

    segment = new_segment()
    cut: list[bool] = []

    async def hang(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        segment.end(Ending.GONE)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cut.append(True)
            raise
        yield "never"

    script = Script()
    loop = loop_of(segment, script)
    loop.model = FunctionModel(stream_function=hang)

    with pytest.raises((SegmentEnded, asyncio.CancelledError)):
        async_to_sync(loop.run)()

    assert cut == [True]
    assert segment.ending is Ending.GONE


def test_events_tell_what_happened_as_far_as_the_level_lets_them(
    toolbox: Toolbox,
) -> None:
    """R15."""
    toolbox.add("look", says="secret result")
    provider = factories.make_provider(answer_level="metadata")
    segment = new_segment("look", provider=provider)

    run_loop(segment, Script([("look", "{}")], "secret answer"))

    events = list(segment.run.events.order_by("sequence"))
    assert [event.kind for event in events] == ["model", "tool", "model"]
    assert [event.content for event in events] == [None, None, None]
    assert events[1].facts["result_length"] == len("secret result")
    assert "secret" not in str([event.facts for event in events])
