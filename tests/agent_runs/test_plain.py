from __future__ import annotations

import pytest

from agent_runs import plain
from agent_runs.contents import Result, RunInput, TextPart
from agent_runs.effects import Effect
from agent_runs.handlers import PlainHandler, RunContext
from agent_runs.models import AgentRun
from agent_runs.plain import PlainContext
from agent_runs.segment import Ending, Segment, SegmentEnded
from tests.agent_runs.segments import make_segment

pytestmark = pytest.mark.django_db

INPUT = RunInput(parts=(TextPart(text="hi"),))


def _context(segment: Segment, *, may_repeat: bool = True) -> PlainContext:
    return PlainContext(segment, INPUT, may_repeat=may_repeat)


def test_a_context_gives_the_input_and_no_state_at_first() -> None:
    context = _context(make_segment())

    assert (context.input, context.checkpoint_state) == (INPUT, None)


def test_a_later_segment_finds_what_the_last_checkpoint_stored() -> None:
    """R8."""
    segment = make_segment()
    _context(segment).checkpoint({"done": [1, 2]})
    segment.run.refresh_from_db()

    assert _context(segment).checkpoint_state == {"done": [1, 2]}


@pytest.mark.parametrize(
    ("may_repeat", "has_checkpoint", "interrupted"),
    [(True, False, True), (False, False, False), (False, True, True)],
    ids=["repeatable", "a write", "a write with a checkpoint"],
)
def test_a_stopping_worker_interrupts_only_what_can_go_on(
    may_repeat: bool, has_checkpoint: bool, interrupted: bool
) -> None:
    segment = make_segment()
    context = _context(segment, may_repeat=may_repeat)
    if has_checkpoint:
        context.checkpoint(1)
    segment.end(Ending.STOPPING)

    try:
        context.check()
    except SegmentEnded:
        assert interrupted
    else:
        assert not interrupted


@pytest.mark.parametrize("effect", list(Effect))
def test_only_what_must_not_be_repeated_is_marked_before_it_starts(
    effect: Effect,
) -> None:
    class Handler(PlainHandler):
        name = "test.marked"

        def run(self, context: RunContext) -> Result:
            stored = AgentRun.objects.get(id=segment.run.id)
            return Result(note="marked" if stored.has_effects else "")

    Handler.effect = effect
    segment = make_segment()

    result = plain.run(Handler(), segment, INPUT)

    assert bool(result.note) is (effect is Effect.NON_IDEMPOTENT_WRITE)
