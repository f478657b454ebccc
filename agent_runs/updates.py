"""The UPDATE of each kind of move, written once; only `lifecycle.py` executes them.

Every one asks for the state that is expected, and for what else makes the move possible.
A run that is let go has no lease; one that has ended keeps nothing that was under way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.db.models import F
from django.db.models.functions import Coalesce

from agent_runs.models import AgentRun
from agent_runs.statements import Update, value

if TYPE_CHECKING:
    from collections.abc import Mapping

_NOW: Final = value(AgentRun, "state_changed_at", "now")

# --- Where ----------------------------------------------------------------------------

_HELD: Final = {"lease_owner": value(AgentRun, "lease_owner", "holder")}
# It was held and has expired: the reaper's view.
_EXPIRED: Final = _HELD | {
    "lease_expires_at__lt": value(AgentRun, "lease_expires_at", "expired_before")
}

# --- To what --------------------------------------------------------------------------

_LET_GO: Final = {"lease_owner": "", "lease_expires_at": None}
_WAITS_NO_MORE: Final = {"waiting_for": None, "waiting_id": ""}
_QUEUED_AGAIN: Final = _LET_GO | {
    "due_at": value(AgentRun, "due_at"),
    "nudged_at": value(AgentRun, "nudged_at"),
}
_TRIED_AGAIN: Final = _QUEUED_AGAIN | {"requeues": F("requeues") + 1}
_ENDED: Final = {
    **_LET_GO,
    **_WAITS_NO_MORE,
    "ended_at": _NOW,
    "end_reason": value(AgentRun, "end_reason"),
    "due_at": None,
    "pending": None,
    "checkpoint": None,
}


def _move(columns: Mapping[str, Any], **where: Any) -> Update:
    """Takes `id`, `expected`, `state`, `now` and `new_events` besides its own values."""
    expected = {
        "id": value(AgentRun, "id"),
        "state": value(AgentRun, "state", "expected"),
    }
    new_events = value(AgentRun, "events_written", "new_events")
    moved = {
        "state": value(AgentRun, "state"),
        "state_changed_at": _NOW,
        "events_written": F("events_written") + new_events,
    }
    return Update(
        lambda: AgentRun.objects.filter(**expected, **where),
        lambda: moved | dict(columns),
    )


# --- The moves ------------------------------------------------------------------------

CLAIM: Final = _move(
    {
        "lease_owner": value(AgentRun, "lease_owner"),
        "lease_expires_at": value(AgentRun, "lease_expires_at"),
        "segments": F("segments") + 1,
        "started_at": Coalesce(F("started_at"), _NOW),
        "due_at": None,
    },
    due_at__lte=_NOW,
)
SUSPEND: Final = _move(
    _LET_GO
    | {
        "waiting_for": value(AgentRun, "waiting_for"),
        "waiting_id": value(AgentRun, "waiting_id"),
    },
    **_HELD,
)
RESUME: Final = _move(
    {
        **_QUEUED_AGAIN,
        **_WAITS_NO_MORE,
        "pending": value(AgentRun, "pending"),
    },
    waiting_id=value(AgentRun, "waiting_id"),
)
REQUEUE: Final = _move(_TRIED_AGAIN, **_HELD)
REQUEUE_EXPIRED: Final = _move(_TRIED_AGAIN, **_EXPIRED)
RELEASE: Final = _move(_QUEUED_AGAIN, **_HELD)
COMPLETE: Final = _move(
    _ENDED
    | {"result": value(AgentRun, "result"), "truncated": value(AgentRun, "truncated")},
    **_HELD,
)
END: Final = _move(_ENDED)
END_HELD: Final = _move(_ENDED, **_HELD)
END_EXPIRED: Final = _move(_ENDED, **_EXPIRED)
