"""The log of a run: what happened, when, how long it took (R15).

An event is inserted in the transaction that has just counted it on the run's row
(`events_written`), so that numbers have no gaps and no twins: the row's lock orders the
writers. `content` is what the answer level left of the text.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from django.db.models import Subquery

from agent_runs.encryption import field_of
from agent_runs.models import AgentRun, AgentRunEvent
from agent_runs.statements import Insert, value

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


# All but its number: what `_values` gives.
_COLUMNS: Final = (
    "id",
    "run_id",
    "kind",
    "round",
    "duration_ms",
    "facts",
    "content",
    "created_at",
)
_INSERT_COUNTED: Final = Insert(
    AgentRunEvent,
    *_COLUMNS,
    sequence=Subquery(
        AgentRun.objects.filter(id=value(AgentRun, "id", "run_id")).values(
            "events_written"
        )
    ),
)


def insert(run_id: UUID, event: NewEvent, *, now: datetime) -> None:
    """Store an event that the caller's UPDATE of the run has counted already."""
    _INSERT_COUNTED.execute(**_values(run_id, event, now))


_INSERT: Final = Insert(AgentRunEvent, *_COLUMNS, "sequence")


def insert_as(sequence: int, run_id: UUID, event: NewEvent, *, now: datetime) -> None:
    """Store an event under a number that nobody else can take."""
    _INSERT.execute(sequence=sequence, **_values(run_id, event, now))


def _values(run_id: UUID, event: NewEvent, now: datetime) -> dict[str, Any]:
    id_ = uuid.uuid4()
    content = event.content
    if content is not None:
        content = field_of(AgentRunEvent, "content").seal(id_, content)
    return {
        "id": id_,
        "run_id": run_id,
        "kind": event.kind,
        "round": event.round,
        "duration_ms": event.duration_ms,
        "facts": event.facts,
        "content": content,
        "created_at": now,
    }
