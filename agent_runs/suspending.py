"""How a segment ends that has to wait for somebody (R2, R16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_runs import redaction
from agent_runs.events import NewEvent
from agent_runs.models import EndReason, RunState
from agent_runs.models.run import EventKind
from agent_runs.outcomes import Failed, Suspended
from agent_runs.waiting import (
    OpenApproval,
    OpenDelegation,
    OpenQuestion,
    Waiting,
    as_text,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_runs.segment import Segment


def for_approval(segment: Segment, approval: OpenApproval) -> Suspended:
    facts = {"waiting": True, "tools": [call.tool for call in approval.calls]}
    event = _event(segment, EventKind.APPROVAL, approval, facts)
    target = RunState.WAITING_FOR_APPROVAL
    return Suspended(target=target, waiting=approval, event=event)


def for_answer(segment: Segment, asked: OpenQuestion) -> Suspended | Failed:
    """Nothing can be asked where nothing may be kept."""
    if not segment.level.keeps_result:
        summary = "a question may not be kept"
        return Failed(reason=EndReason.POLICY_DENIED, summary=summary)
    facts = {"tool": asked.tool, "fields": len(asked.question.fields)}
    event = _event(segment, EventKind.QUESTION, asked, facts)
    return Suspended(target=RunState.WAITING_FOR_INPUT, waiting=asked, event=event)


def for_delegation(
    segment: Segment, delegation: OpenDelegation, facts: Mapping[str, object]
) -> Suspended:
    event = NewEvent(
        kind=EventKind.DELEGATION,
        round=segment.run.rounds,
        facts={"waiting": True, **facts},
    )
    target = RunState.WAITING_FOR_REMOTE
    return Suspended(target=target, waiting=delegation, event=event)


def _event(
    segment: Segment, kind: EventKind, waiting: Waiting, facts: dict[str, object]
) -> NewEvent:
    return NewEvent(
        kind=kind,
        round=segment.run.rounds,
        facts=facts,
        content=redaction.event_content(segment.level, as_text(waiting)),
    )
