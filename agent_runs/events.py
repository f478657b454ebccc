"""The log of a run: what happened, when, how long it took (R15).

An event is inserted in the transaction that has just counted it on the run's row
(`events_written`), so that numbers have no gaps and no twins: the row's lock orders the
writers. `content` is what the answer level left of the text.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db.models import Subquery

from agent_runs.models import AgentRun, AgentRunEvent

if TYPE_CHECKING:
    from datetime import datetime

    from agent_runs.models.run import EventKind


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    kind: EventKind
    round: int = 0
    duration_ms: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    content: str | None = None


def insert(run_id: UUID, event: NewEvent, *, now: datetime) -> None:
    """Store an event that the caller's UPDATE of the run has counted already."""
    written = AgentRun.objects.filter(id=run_id).values("events_written")
    insert_as(Subquery(written), run_id, event, now=now)


def insert_as(
    sequence: int | Subquery, run_id: UUID, event: NewEvent, *, now: datetime
) -> None:
    """Store an event under a number that nobody else can take."""
    AgentRunEvent(
        id=uuid.uuid4(),
        run_id=run_id,
        sequence=sequence,
        kind=event.kind,
        round=event.round,
        duration_ms=event.duration_ms,
        facts=event.facts,
        content=event.content,
        created_at=now,
    ).save(force_insert=True)
