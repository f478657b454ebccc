"""Handlers that stop at a gate in the test's process, and go on when the test says so.

The text of the message is the name under which a run comes to the gate. What a run does
to the world is its visits there: the gate counts them, whatever becomes of the worker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from agent_runs.contents import Result, TextPart, text_output
from agent_runs.effects import Effect
from agent_runs.handlers import PlainHandler
from tests.drill.visiting import visit

if TYPE_CHECKING:
    from agent_runs.handlers import RunContext

STEPS = 3


class ReadOnly(PlainHandler):
    name: ClassVar[str] = "drill.read_only"
    effect: ClassVar[Effect] = Effect.READ_ONLY

    def run(self, context: RunContext) -> Result:
        visit(context.input.text, context.check)
        return Result(outputs=(text_output(f"{context.input.text} is done"),))


class Idempotent(ReadOnly):
    name: ClassVar[str] = "drill.idempotent"
    effect: ClassVar[Effect] = Effect.IDEMPOTENT_WRITE


class Writing(ReadOnly):
    """May not be begun a second time."""

    name: ClassVar[str] = "drill.writing"
    effect: ClassVar[Effect] = Effect.NON_IDEMPOTENT_WRITE


class Stepwise(PlainHandler):
    """Writes in steps, each visited as `name/number` and followed by a checkpoint."""

    name: ClassVar[str] = "drill.stepwise"
    effect: ClassVar[Effect] = Effect.NON_IDEMPOTENT_WRITE

    def run(self, context: RunContext) -> Result:
        done = context.checkpoint_state
        for step in range(done + 1 if isinstance(done, int) else 1, STEPS + 1):
            visit(f"{context.input.text}/{step}", context.check)
            context.checkpoint(step)
        return Result(outputs=(text_output(f"{context.input.text} is done"),))


class Answering(ReadOnly):
    """Answers with a plain message."""

    name: ClassVar[str] = "drill.answering"
    answers_with_message: ClassVar[bool] = True

    def run(self, context: RunContext) -> Result:
        visit(context.input.text, context.check)
        return Result(message=(TextPart(text=f"{context.input.text} is done"),))


HANDLERS = (ReadOnly(), Idempotent(), Writing(), Stepwise(), Answering())
