"""What is asked of remote agents while no worker is held (C6, C9, R11).

Periodic jobs, run by the sweep and by beat. Each takes its rows by an UPDATE first, so
that two of them at once ask nothing twice; all requests of a round leave side by side and
have a time-out of their own, so that a slow agent holds up a round by that and no more.
Every job looks at what the rows say now: whatever a crash left behind is found again.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from asgiref.sync import async_to_sync
from django.conf import settings
from django.db import transaction
from django.db.models import Q

from a2a_client import conf, ledger, messages, outcomes, recording, transport
from a2a_client.audit import Audit
from a2a_client.models import (
    ACTIVE_STATES,
    CallState,
    Cancellation,
    RemoteCall,
)
from a2a_client.replies import TASK_NOT_FOUND, Accepted, NotAccepted
from a2a_protocol.errors import RemoteError
from agent_runs import clock, delegations, registries, retention, workers
from agent_runs.models import RunState
from agent_runs.models.run import TERMINAL_STATES
from agent_runs.registries import PeriodicJob

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from django.db.models import QuerySet

    from a2a_client.outcomes import Outcome
    from a2a_client.replies import Judgement

logger = logging.getLogger(__name__)

# Seconds that one poll or cancellation may take, and how many leave side by side.
_SECONDS: Final = 10
_BATCH: Final = 50
# Whoever took a row and died has it until then.
_TAKEN_FOR: Final = timedelta(seconds=60)
# A command that waits for its call renews it more often than that.
LEFT_ALONE: Final = timedelta(minutes=5)

GONE = "The agent does not know the task any more."
UNANSWERED = "Nobody answered what the agent asked. The task was canceled."
LATE = "The agent had not finished by the deadline. The task was canceled."


def register_jobs() -> None:
    """Without the role nothing leaves, but what it left behind is still looked after."""
    asking = (("remote-poll", 2, poll), ("remote-cancel", 5, cancel))
    tidying = (
        ("remote-tidy", 5, tidy),
        ("remote-reduce", 60, reduce),
        ("remote-retention", 24 * 3600, purge),
    )
    for name, seconds, run in (*(asking if conf.is_enabled() else ()), *tidying):
        registries.register_periodic_job(
            PeriodicJob(name=name, interval=timedelta(seconds=seconds), run=run)
        )


# --- Polling --------------------------------------------------------------------------


def poll() -> None:
    """Ask for the tasks that are due, oldest first."""
    if conf.is_enabled():
        _all_at_once(_poll_one, _taken())


def _taken() -> list[RemoteCall]:
    """Due calls whose run waits for them, or whose process does not look any more."""
    now = clock.database_now()
    due = RemoteCall.objects.filter(state=CallState.WORKING, due_at__lte=now)
    needed = due.filter(Q(run__state=RunState.WAITING_FOR_REMOTE) | Q(run=None))
    return _take(needed.order_by("due_at", "id"), due_at=now + _TAKEN_FOR)


async def _poll_one(call: RemoteCall) -> Callable[[], object]:
    judgement = await ask(call, seconds=_SECONDS)
    return lambda: _take_poll(call, judgement)


async def ask(
    call: RemoteCall, *, purpose: str = "poll", seconds: float | None = None
) -> Judgement:
    """Ask for the task that the call became, once; `seconds` as `transport.send` has it."""
    return await transport.send(
        call.agent,
        "GetTask",
        messages.task_state(call),
        audit=Audit.of(call, purpose),
        seconds=seconds,
    )


def _take_poll(call: RemoteCall, judgement: Judgement) -> None:
    with transaction.atomic():
        if record_poll(call, judgement) and call.run_id is not None:
            delegations.wake(call.run_id, str(call.pk))


def record_poll(call: RemoteCall, judgement: Judgement) -> bool:
    """Record what GetTask told; True when whoever waits should look.

    A poll that failed tells nothing about the task; the next one may (B111).
    """
    if isinstance(judgement, NotAccepted) and judgement.code == TASK_NOT_FOUND:
        return ledger.failed(call, code="task_not_found", sentence=GONE)
    found = _read(call, judgement)
    if found is not None and not isinstance(found, outcomes.Working):
        return recording.outcome(call, found)
    if call.deadline_at <= clock.database_now():
        return ledger.expired(call, LATE)
    asked = None if isinstance(judgement, Accepted) else judgement.retry_after
    ledger.postpone(call, recording.poll_delay(call.polls, asked=asked))
    return False


def _read(call: RemoteCall, judgement: Judgement) -> Outcome | None:
    if not isinstance(judgement, Accepted):
        return None
    try:
        found, notes = outcomes.of_task_result(
            judgement.result, answered=ledger.answered_mark(call)
        )
    except RemoteError:
        return None
    recording.note(call, notes)
    return None if found.task_id != call.remote_task_id else found


# --- Whatever was left behind ---------------------------------------------------------


def tidy() -> None:
    """Wake runs whose call needs them, and end calls that nobody waits for."""
    _wake_forgotten()
    _abandon_orphans()
    _end_lost()
    _end_unanswered()


def _wake_forgotten() -> None:
    """Runs that wait for a call which is not on its way any more, or must not be."""
    calls = RemoteCall.objects.filter(run__state=RunState.WAITING_FOR_REMOTE)
    if conf.is_enabled():
        # Without the role nothing is polled: each run is told, and fails (S73).
        calls = calls.exclude(state=CallState.WORKING, agent__is_enabled=True)
    found = calls.order_by("state_changed_at").values_list(
        "pk", "run_id", "run__waiting_id"
    )
    # Beside them are the earlier calls of those runs, in whatever number.
    waits = ((run_id, waiting) for pk, run_id, waiting in found if waiting == str(pk))
    for run_id, waiting_id in islice(waits, _BATCH):
        delegations.wake(run_id, waiting_id)


def _abandon_orphans() -> None:
    orphans = RemoteCall.objects.filter(
        state__in=ACTIVE_STATES, run__state__in=TERMINAL_STATES
    )
    for call in orphans.order_by("state_changed_at")[:_BATCH]:
        ledger.abandon(call)


def _end_lost() -> None:
    """Messages without a run whose process ended before it stored an answer."""
    before = clock.database_now() - LEFT_ALONE
    lost = RemoteCall.objects.filter(
        state=CallState.SENDING, run=None, state_changed_at__lt=before
    )
    for call in lost[:_BATCH]:
        ledger.lost(call)


def _end_unanswered() -> None:
    """Questions of calls without a run count against the agent's limit, too (R18)."""
    before = clock.database_now() - timedelta(days=settings.AGENT_RUNS_MAX_WAIT_DAYS)
    left = RemoteCall.objects.filter(
        state=CallState.ASKING, run=None, state_changed_at__lt=before
    )
    for call in left[:_BATCH]:
        ledger.expired(call, UNANSWERED)


# --- Canceling ------------------------------------------------------------------------


def cancel() -> None:
    """Tell agents once about tasks that nobody waits for any more, best effort."""
    if conf.is_enabled():
        _all_at_once(_cancel_one, _to_cancel())


def _to_cancel() -> list[RemoteCall]:
    """It is sent once, whatever becomes of it: so it counts as sent from now on."""
    wanted = RemoteCall.objects.filter(cancellation=Cancellation.WANTED)
    return _take(wanted.order_by("state_changed_at"), cancellation=Cancellation.SENT)


async def _cancel_one(call: RemoteCall) -> Callable[[], object]:
    judgement = await send_cancellation(call)
    if isinstance(judgement, Accepted):
        return lambda: None
    return lambda: ledger.cancellation_failed(call)


async def send_cancellation(call: RemoteCall) -> Judgement:
    audit = Audit.of(call, "cancel")
    request = messages.cancellation(call)
    return await transport.send(
        call.agent, "CancelTask", request, audit=audit, seconds=_SECONDS
    )


# --- Reducing -------------------------------------------------------------------------


def reduce() -> None:
    """Keep of the contents of ended runs' calls what their level lets be kept (R16)."""
    ended = RemoteCall.objects.filter(
        is_to_be_reduced=True, ended_at__isnull=False, run__state__in=TERMINAL_STATES
    )
    ended = ended.select_related("run__configuration__provider").order_by("ended_at")
    for call in ended[:_BATCH]:
        if call.run is not None:
            ledger.reduce(call, call.run.current_level)


# --- Forgetting -----------------------------------------------------------------------


def purge() -> None:
    """Delete ended calls without a run as runs are; those of runs go with them (R18)."""
    before = clock.database_now() - retention.retention()
    old = RemoteCall.objects.filter(run=None, ended_at__lt=before)
    while keys := list(old.values_list("pk", flat=True)[: retention.CHUNK]):
        RemoteCall.objects.filter(pk__in=keys).delete()
        workers.beat()


# --- Taking and asking ----------------------------------------------------------------


def _take(calls: QuerySet[RemoteCall], **columns: Any) -> list[RemoteCall]:
    """The first of these, for this process alone: another one at once takes others."""
    with transaction.atomic():
        locked = calls.select_for_update(skip_locked=True, of=("self",))
        taken = list(locked.select_related("agent")[:_BATCH])
        rows = RemoteCall.objects.filter(pk__in=[call.pk for call in taken])
        if taken:
            rows.update(**columns)
    return taken


def _all_at_once(
    ask: Callable[[RemoteCall], Awaitable[Callable[[], object]]],
    calls: list[RemoteCall],
) -> None:
    """Ask for all of them, then store one by one; one that fails stops no other."""
    if not calls:
        return
    for call, told in zip(calls, async_to_sync(_gathered)(ask, calls), strict=True):
        try:
            if isinstance(told, BaseException):
                raise told
            told()
        except Exception:
            logger.exception(
                "remote call not followed", extra={"call_id": str(call.pk)}
            )


async def _gathered(
    ask: Callable[[RemoteCall], Awaitable[Callable[[], object]]],
    calls: list[RemoteCall],
) -> list[Callable[[], object] | BaseException]:
    return await asyncio.gather(*map(ask, calls), return_exceptions=True)
