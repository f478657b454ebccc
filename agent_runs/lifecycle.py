"""The only writer of a run's state: one table of moves, each a compare-and-set (R2, R3).

Every move is one UPDATE whose WHERE repeats the expected state, and the lease's owner
where a segment acts. One row touched: won, and `run_changed` is sent in the same
transaction. None: lost to somebody else, which is no error; the loser learns it from the
return value and leaves the row alone. A terminal row matches no WHERE, so terminal is
final.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import F

from agent_runs import clock, events, nudges, updates
from agent_runs.contents import Result, dump_result
from agent_runs.encryption import field_of
from agent_runs.events import NewEvent
from agent_runs.models import AgentRun, EndReason, RunState
from agent_runs.models.run import TERMINAL_STATES, WAITING_STATES, EventKind
from agent_runs.signals import RunChange, run_changed
from agent_runs.waiting import dump as dump_waiting

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from uuid import UUID

    from agent_runs.statements import Update
    from agent_runs.waiting import Waiting

logger = logging.getLogger(__name__)

LEASE_TIME = timedelta(seconds=60)


class Move(Enum):
    CLAIM = "claim"
    SUSPEND = "suspend"
    RESUME = "resume"
    REQUEUE = "requeue"
    RELEASE = "release"
    SETTLE = "settle"
    REJECT = "reject"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    sources: frozenset[RunState]
    targets: frozenset[RunState]


_OPEN_STATES = frozenset(RunState) - TERMINAL_STATES
_QUEUED = frozenset({RunState.QUEUED})
_RUNNING = frozenset({RunState.RUNNING})

MOVES: dict[Move, Rule] = {
    Move.CLAIM: Rule(sources=_QUEUED, targets=_RUNNING),
    Move.SUSPEND: Rule(sources=_RUNNING, targets=WAITING_STATES),
    Move.RESUME: Rule(sources=WAITING_STATES, targets=_QUEUED),
    Move.REQUEUE: Rule(sources=_RUNNING, targets=_QUEUED),
    Move.RELEASE: Rule(sources=_RUNNING, targets=_QUEUED),
    Move.SETTLE: Rule(
        sources=_OPEN_STATES,
        targets=frozenset({RunState.COMPLETED, RunState.FAILED}),
    ),
    Move.REJECT: Rule(
        sources=_QUEUED | _RUNNING, targets=frozenset({RunState.REJECTED})
    ),
    Move.CANCEL: Rule(sources=_OPEN_STATES, targets=frozenset({RunState.CANCELED})),
}


@dataclass(slots=True, kw_only=True)
class Lease:
    """One segment's right to the row; `runs_out_at` is by the monotonic clock."""

    run_id: UUID
    owner: str
    runs_out_at: float = field(default=0.0)


class IllegalMove(Exception):  # noqa: N818 -- a programming error, never caught
    """A caller asked for a move that the table does not have."""


def claim(run_id: UUID, *, owner: str, now: datetime) -> Lease | None:
    """Take a queued, due run for one segment."""
    started = time.monotonic()
    won = _move(
        Move.CLAIM,
        updates.CLAIM,
        run_id,
        expected=RunState.QUEUED,
        target=RunState.RUNNING,
        now=now,
        given={"lease_owner": owner, "lease_expires_at": now + LEASE_TIME},
    )
    if not won:
        return None
    runs_out_at = started + LEASE_TIME.total_seconds()
    return Lease(run_id=run_id, owner=owner, runs_out_at=runs_out_at)


def renew(
    lease: Lease, *, now: datetime, new_event: NewEvent | None = None, **columns: Any
) -> bool:
    """Prolong the lease and store `columns` with it; False when it is lost (R9)."""
    started = time.monotonic()
    count = {"events_written": F("events_written") + 1} if new_event else {}
    with transaction.atomic():
        touched = AgentRun.objects.filter(
            id=lease.run_id, state=RunState.RUNNING, lease_owner=lease.owner
        ).update(lease_expires_at=now + LEASE_TIME, **columns, **count)
        if touched and new_event:
            events.insert(lease.run_id, new_event, now=now)
    if touched:
        lease.runs_out_at = started + LEASE_TIME.total_seconds()
    return bool(touched)


def suspend(
    lease: Lease,
    target: RunState,
    *,
    waiting: Waiting,
    now: datetime,
    event: NewEvent | None = None,
) -> bool:
    """Set the run aside until somebody answers; its checkpoint is stored already."""
    sealed = field_of(AgentRun, "waiting_for").seal(lease.run_id, dump_waiting(waiting))
    return _move(
        Move.SUSPEND,
        updates.SUSPEND,
        lease.run_id,
        expected=RunState.RUNNING,
        target=target,
        now=now,
        given={
            "holder": lease.owner,
            "waiting_for": sealed,
            "waiting_id": waiting.id,
        },
        event=event,
        waiting=waiting,
    )


def resume(
    run_id: UUID,
    expected: RunState,
    *,
    waiting_id: str,
    pending: str,
    now: datetime,
    event: NewEvent | None = None,
) -> bool:
    """Hand a waiting run, with what it waited for, back to the workers.

    Lost as well when it waits for something else than `waiting_id` by now (T9, T12).
    """
    with transaction.atomic():
        won = _move(
            Move.RESUME,
            updates.RESUME,
            run_id,
            expected=expected,
            target=RunState.QUEUED,
            now=now,
            given={
                "waiting_id": waiting_id,
                "pending": field_of(AgentRun, "pending").seal(run_id, pending),
                "due_at": now,
                "nudged_at": now,
            },
            event=event,
        )
        if won:
            nudges.nudge_on_commit(run_id)
    return won


def requeue(
    lease: Lease,
    *,
    delay: timedelta,
    now: datetime,
    event: NewEvent,
    expired_before: datetime | None = None,
) -> bool:
    """Give the run back to be tried again after `delay`; it counts as a requeue (R10)."""
    return _move(
        Move.REQUEUE,
        updates.REQUEUE if expired_before is None else updates.REQUEUE_EXPIRED,
        lease.run_id,
        expected=RunState.RUNNING,
        target=RunState.QUEUED,
        now=now,
        given={
            **_holding(lease, expired_before),
            "due_at": now + delay,
            # What is due at once is nudged by the caller; the rest when its time comes.
            "nudged_at": None if delay else now,
        },
        event=event,
    )


def release(lease: Lease, *, delay: timedelta, now: datetime) -> bool:
    """Give the run back because this worker stops; it does not count (R2)."""
    with transaction.atomic():
        won = _move(
            Move.RELEASE,
            updates.RELEASE,
            lease.run_id,
            expected=RunState.RUNNING,
            target=RunState.QUEUED,
            now=now,
            given={
                "holder": lease.owner,
                "due_at": now + delay,
                "nudged_at": None if delay else now,
            },
        )
        if won and not delay:
            nudges.nudge_on_commit(lease.run_id)
    return won


def complete(lease: Lease, *, result: Result, truncated: bool, now: datetime) -> bool:
    sealed = field_of(AgentRun, "result").seal(lease.run_id, dump_result(result))
    return _move(
        Move.SETTLE,
        updates.COMPLETE,
        lease.run_id,
        expected=RunState.RUNNING,
        target=RunState.COMPLETED,
        now=now,
        given={"holder": lease.owner, "result": sealed, "truncated": truncated},
        end_reason=EndReason.COMPLETED,
        result=result,
    )


def fail(
    run_id: UUID,
    reason: EndReason,
    *,
    now: datetime,
    expected: RunState = RunState.RUNNING,
    lease: Lease | None = None,
    expired_before: datetime | None = None,
) -> bool:
    """Settle as failed, from `expected`; with a lease only while it is held."""
    return _move(
        Move.SETTLE,
        _end_of(lease, expired_before),
        run_id,
        expected=expected,
        target=RunState.FAILED,
        now=now,
        given=_holding(lease, expired_before),
        end_reason=reason,
    )


def _holding(lease: Lease | None, expired_before: datetime | None) -> dict[str, Any]:
    """Which lease a move is made by, or which one it may be made in spite of."""
    if lease is None:
        return {}
    held = {"holder": lease.owner}
    return held if expired_before is None else held | {"expired_before": expired_before}


def _end_of(lease: Lease | None, expired_before: datetime | None) -> Update:
    if lease is None:
        return updates.END
    return updates.END_HELD if expired_before is None else updates.END_EXPIRED


def reject(lease: Lease, *, detail: str, now: datetime) -> bool:
    """The handler refused the input; `detail` is its sentence for whoever asked."""
    return _move(
        Move.REJECT,
        updates.END_HELD,
        lease.run_id,
        expected=RunState.RUNNING,
        target=RunState.REJECTED,
        now=now,
        given={"holder": lease.owner},
        end_reason=EndReason.INPUT_REJECTED,
        detail=detail,
    )


def cancel(run_id: UUID) -> bool:
    """End a run that has not ended; True when this call did it (R14, S66)."""
    while True:
        states = AgentRun.objects.filter(id=run_id).values_list("state", flat=True)
        state = states.first()
        if state is None or RunState(state) not in MOVES[Move.CANCEL].sources:
            return False
        if _move(
            Move.CANCEL,
            updates.END,
            run_id,
            expected=RunState(state),
            target=RunState.CANCELED,
            now=clock.database_now(),
            end_reason=EndReason.CANCELED,
        ):
            return True
        # Moved on between the look and the UPDATE: look again. A run makes finitely
        # many moves before it ends.


def still_held(leases: Collection[Lease]) -> set[str]:
    """The owners of those leases that still hold their rows; one query.

    By owner and not by run: one process may have two segments of one run, of which the
    first has lost its lease without noticing yet.
    """
    running = AgentRun.objects.filter(
        id__in={lease.run_id for lease in leases}, state=RunState.RUNNING
    )
    owners = {lease.owner for lease in leases}
    return owners & set(running.values_list("lease_owner", flat=True))


def _move(
    move: Move,
    statement: Update,
    run_id: UUID,
    *,
    expected: RunState,
    target: RunState,
    now: datetime,
    given: Mapping[str, Any] = MappingProxyType({}),
    event: NewEvent | None = None,
    end_reason: str = "",
    result: Result | None = None,
    detail: str = "",
    waiting: Waiting | None = None,
) -> bool:
    """`given` are the values of the statement that are this kind's own."""
    rule = MOVES[move]
    if expected not in rule.sources or target not in rule.targets:
        raise IllegalMove(f"{move.value} from {expected} to {target}")
    change = RunChange(
        run_id=run_id,
        previous=expected,
        state=target,
        at=now,
        end_reason=end_reason,
        result=result,
        detail=detail,
        waiting=waiting,
    )
    event = _settled_event(change) if target in TERMINAL_STATES else event
    with transaction.atomic():
        touched = statement.execute(**_common(change, event), **given)
        if touched:
            if event:
                events.insert(run_id, event, now=now)
            run_changed.send(sender=AgentRun, change=change)
    if not touched:
        logger.info(
            "move lost", extra={"run": str(run_id), "move": move.value, "to": target}
        )
    return bool(touched)


def _common(change: RunChange, event: NewEvent | None) -> dict[str, Any]:
    common = {
        "id": change.run_id,
        "expected": change.previous,
        "state": change.state,
        "now": change.at,
        "new_events": 1 if event else 0,
    }
    if change.state in TERMINAL_STATES:
        common["end_reason"] = change.end_reason
    return common


def _settled_event(change: RunChange) -> NewEvent:
    facts = {"state": change.state.value, "reason": change.end_reason}
    return NewEvent(kind=EventKind.SETTLED, facts=facts)
