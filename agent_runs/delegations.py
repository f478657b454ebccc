"""Calls that are handed to somebody else, as a run sees them (R2, R12, C5, C6).

The tool keeps the record of what left and what became of it; the run keeps that it has
delegated, so that it never starts over. After a wait the call is made again and the tool
says how far it is: nothing is handed over with the wake, so a wake that comes twice, too
late or to another process does no harm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from asgiref.sync import sync_to_async

from agent_runs import clock, lifecycle, redaction, suspending
from agent_runs.events import NewEvent
from agent_runs.interrupting import interruptible
from agent_runs.models import RunState
from agent_runs.models.run import EventKind
from agent_runs.questions import QuestionError
from agent_runs.tools import gate
from agent_runs.tools.contract import ToolError
from agent_runs.tools.progress import Asking, Done, StillRunning
from agent_runs.transcript import Decisions
from agent_runs.waiting import OpenDelegation, open_question

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from pydantic_ai.messages import ToolCallPart

    from agent_runs.outcomes import Failed, Suspended
    from agent_runs.segment import Segment
    from agent_runs.tools.contract import Tool
    from agent_runs.transcript import ToolResult, Transcript

CANNOT_BE_ASKED = "The agent asked something that cannot be passed on."


def wake(run_id: UUID, waiting_id: str) -> bool:
    """Hand a run that waits for this delegation back to the workers.

    False when it does not wait for it, or not any more.
    """
    return lifecycle.resume(
        run_id,
        RunState.WAITING_FOR_REMOTE,
        waiting_id=waiting_id,
        pending=Decisions().dump(),
        now=clock.database_now(),
    )


async def proceed(
    segment: Segment, transcript: Transcript, call: ToolCallPart, tool: Tool
) -> ToolResult | Suspended | Failed:
    """Make the call, or go on with it: its result, or how the segment ends."""
    if problem := gate.delegation_problem(segment.run, call, tool):
        return gate.failed(call, problem)
    await _mark(segment, transcript, tool)
    answers = transcript.decisions.answers
    try:
        progress = await interruptible(
            segment, gate.delegate(segment.run, call, tool, answers)
        )
    except ToolError as error:
        return gate.failed(call, str(error))
    if isinstance(progress, Done):
        event = _event(segment, tool, progress.facts)
        await sync_to_async(segment.store)(event=event)
        return gate.delegated(call, tool, progress)
    return _set_aside(segment, call, tool, progress)


async def _mark(segment: Segment, transcript: Transcript, tool: Tool) -> None:
    """From now on the run never starts over (R11)."""
    if transcript.has_delegated:
        return
    transcript.has_delegated = segment.run.has_effects = True
    await sync_to_async(segment.store_checkpoint)(
        transcript.dump(), event=_event(segment, tool, {}), has_effects=True
    )


def _event(segment: Segment, tool: Tool, facts: Mapping[str, object]) -> NewEvent:
    told = {"tool": tool.name, **facts}
    return NewEvent(kind=EventKind.DELEGATION, round=segment.run.rounds, facts=told)


def _set_aside(
    segment: Segment, call: ToolCallPart, tool: Tool, progress: StillRunning | Asking
) -> ToolResult | Suspended | Failed:
    if isinstance(progress, StillRunning):
        delegation = OpenDelegation(id=progress.waiting_id, tool=tool.name)
        facts = {"tool": tool.name, **progress.facts}
        return suspending.for_delegation(segment, delegation, facts)
    return _asked(segment, call, tool, progress)


def _asked(
    segment: Segment, call: ToolCallPart, tool: Tool, asking: Asking
) -> ToolResult | Suspended | Failed:
    try:
        question = redaction.askable(segment.level, asking.question)
    except QuestionError:
        return gate.failed(call, CANNOT_BE_ASKED)
    asked = open_question(
        question, key=asking.key, asked_by=[asking.key], tool=tool.name
    )
    return suspending.for_answer(segment, asked)
