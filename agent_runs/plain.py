"""Runs a plain-Python handler within a segment (R8).

The handler has no transcript. What it stored with `checkpoint` lets another segment go
on; without that, a handler that is neither read-only nor idempotent is never begun a
second time: `has_effects` is set before it starts, and the reaper reads it.

A handler that asks is begun again when it is answered. What it stored so far and the
answers it was given are the checkpoint then, stored when the handler has ended: until
then nobody knows what it did. For a handler that may not repeat itself, and has stored
nothing, that checkpoint is taken away before it begins, so that it counts for this one
beginning only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_runs import questions, redaction, store
from agent_runs.contents import (
    JSONValue,
    Result,
    RunInput,
    dump_document,
    load_document,
)
from agent_runs.questions import Answer
from agent_runs.transcript import Decisions
from agent_runs.waiting import open_question

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_runs.handlers import PlainHandler
    from agent_runs.questions import Question
    from agent_runs.segment import Segment
    from agent_runs.waiting import OpenQuestion


class Asked(Exception):  # noqa: N818 -- a way out, not a failure
    """The handler needs an answer that is not there yet."""

    def __init__(self, question: OpenQuestion) -> None:
        super().__init__("the handler asks")
        self.question = question


class PlainContext:
    """The `RunContext` that a handler is given."""

    def __init__(
        self, segment: Segment, run_input: RunInput, *, may_repeat: bool
    ) -> None:
        self._segment = segment
        self._input = run_input
        self._may_repeat = may_repeat
        stored = load_document(segment.run.checkpoint) if segment.run.checkpoint else {}
        self._state: JSONValue = stored.get("state")
        self._answers = _answers(stored)
        self._asked: Asked | None = None
        if segment.run.pending:
            self._answers |= Decisions.load(segment.run.pending).answers

    @property
    def input(self) -> RunInput:
        return self._input

    @property
    def checkpoint_state(self) -> JSONValue:
        return self._state

    def begin(self) -> None:
        """Store that the handler begins, and what it begins with."""
        run = self._segment.run
        if not self._may_repeat and self._state is None:
            # From here on this run never starts over.
            self._segment.store(has_effects=True, checkpoint=None, pending=None)
            run.has_effects, run.checkpoint, run.pending = True, None, None
            return
        if run.pending:
            self._store()
        if not self._may_repeat:
            self._segment.mark_effects()

    def end(self) -> None:
        """Raise `Asked` where the handler did ask, whatever it made of that."""
        if self._asked is not None:
            # What the handler left open would take the checkpoint with it.
            store.leave_no_transaction()
            self._store()
            raise self._asked

    def checkpoint(self, state: JSONValue) -> None:
        self._refuse_to_go_on()
        self._state = state
        self._store()

    def check(self) -> None:
        self._refuse_to_go_on()
        # A stopping worker may interrupt only what another segment can go on with.
        can_go_on = self._may_repeat or self._segment.run.checkpoint is not None
        self._segment.check(stopping_counts=can_go_on)

    def ask(self, question: Question, *, name: str = "") -> Answer:
        asked = redaction.askable(self._segment.level, question)
        key = name or questions.digest(question, ())
        if key in self._answers:
            return self._answers[key]
        self.check()
        self._asked = Asked(open_question(asked, key=key, asked_by=[key]))
        raise self._asked

    def _refuse_to_go_on(self) -> None:
        """A handler that kept the exception to itself would go on without the answer."""
        if self._asked is not None:
            raise self._asked

    def _store(self) -> None:
        answers = {key: _dumped(answer) for key, answer in self._answers.items()}
        self._segment.store_checkpoint(
            dump_document({"state": self._state, "answers": answers})
        )


def run(handler: PlainHandler, segment: Segment, run_input: RunInput) -> Result:
    """Raises `Asked` when the handler needs an answer first."""
    context = PlainContext(segment, run_input, may_repeat=handler.effect.may_repeat)
    context.begin()
    try:
        result = handler.run(context)
    except Exception:
        context.end()
        raise
    context.end()
    return result


def _dumped(answer: Answer) -> dict[str, Any]:
    return {"value": answer.value, "message_id": answer.message_id}


def _answers(stored: Mapping[str, Any]) -> dict[str, Answer]:
    # An earlier release stored none.
    return {key: Answer(**one) for key, one in stored.get("answers", {}).items()}
