"""Runs a plain-Python handler within a segment (R8).

The handler has no transcript. What it stored with `checkpoint` lets another segment go
on; without that, a handler that is neither read-only nor idempotent is never begun a
second time: `has_effects` is set before it starts, and the reaper reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_runs.contents import (
    JSONValue,
    Result,
    RunInput,
    dump_document,
    load_document,
)

if TYPE_CHECKING:
    from agent_runs.handlers import PlainHandler
    from agent_runs.segment import Segment


class PlainContext:
    """The `RunContext` that a handler is given."""

    def __init__(
        self, segment: Segment, run_input: RunInput, *, may_repeat: bool
    ) -> None:
        self._segment = segment
        self._input = run_input
        self._may_repeat = may_repeat
        stored = segment.run.checkpoint
        self._state: JSONValue = load_document(stored)["state"] if stored else None

    @property
    def input(self) -> RunInput:
        return self._input

    @property
    def checkpoint_state(self) -> JSONValue:
        return self._state

    def checkpoint(self, state: JSONValue) -> None:
        self._segment.store_checkpoint(dump_document({"state": state}))
        self._state = state

    def check(self) -> None:
        # A stopping worker may interrupt only what another segment can go on with.
        can_go_on = self._may_repeat or self._segment.run.checkpoint is not None
        self._segment.check(stopping_counts=can_go_on)


def run(handler: PlainHandler, segment: Segment, run_input: RunInput) -> Result:
    may_repeat = handler.effect.may_repeat
    context = PlainContext(segment, run_input, may_repeat=may_repeat)
    if not may_repeat:
        segment.mark_effects()
    return handler.run(context)
