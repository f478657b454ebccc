"""The only writer of remote calls (C5–C9).

Every change is one UPDATE whose WHERE repeats the states it may be made from, so that a
worker, a poll and an administrator can act at once and one of them wins. A row is
committed as `sending` before anything leaves; whoever finds one that another process
left there knows that nobody knows whether the message arrived, and never sends it again.
"""

from __future__ import annotations

import hashlib
import uuid
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import F

from a2a_client import stored
from a2a_client.models import (
    ACTIVE_STATES,
    CallState,
    Cancellation,
    RemoteAgent,
    RemoteCall,
)
from agent_runs import clock, redaction
from agent_runs.encryption import field_of
from agent_runs.models.llm import AnswerLevel

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime
    from uuid import UUID

    from a2a_client.outcomes import Asks
    from agent_runs.models import AgentRun

# Where a call may come to from the outside: the message is under way, or the agent works.
UNDER_WAY = frozenset({CallState.SENDING, CallState.WORKING})

# Of what makes a question's key its own; the question's mark stands before it.
_LENGTH_OF_OWN = 32

CRASHED = "crashed"
LOST = (
    "Nobody knows whether the agent got the message: the process that sent it ended "
    "before the answer was stored. It is not sent again."
)


class Busy(Exception):  # noqa: N818 -- an answer, not a failure
    """The agent has as many steps as it may have at once."""


class AlreadyBegun(Exception):  # noqa: N818 -- an answer, not a failure
    """Another process has begun this call of the run."""


class NotCallable(Exception):  # noqa: N818 -- an answer, not a failure
    """The agent is gone, off, or has no interface that may be used; the sentence says."""


def call_key(call_id: str) -> str:
    return hashlib.sha256(call_id.encode()).hexdigest() if call_id else ""


# --- Beginning ------------------------------------------------------------------------


def begin(
    agent: RemoteAgent,
    *,
    text: str,
    skill: str = "",
    run: AgentRun | None = None,
    call_id: str = "",
    context_id: str = "",
) -> RemoteCall:
    """Commit a call as `sending`; from then on it is one of the agent's active ones.

    `context_id` goes on with an earlier call's context; without it there is a new one.

    Raises `AlreadyBegun`, `Busy` or `NotCallable`, and nothing is stored then.
    """
    key = call_key(call_id)
    with transaction.atomic():
        locked = RemoteAgent.objects.select_for_update().filter(pk=agent.pk).first()
        if locked is None or (problem := locked.call_problem()):
            raise NotCallable(problem if locked else "The agent is not registered.")
        if run is not None and find(run.pk, call_id):
            raise AlreadyBegun
        active = RemoteCall.objects.filter(agent=locked, state__in=ACTIVE_STATES)
        if active.count() >= locked.max_active_calls:
            raise Busy
        context = context_id or str(uuid.uuid4())
        columns = {"skill": skill, "request": text, "context_id": context}
        return _insert(locked, run, key, **columns)


def _insert(
    agent: RemoteAgent, run: AgentRun | None, key: str, **columns: Any
) -> RemoteCall:
    now = clock.database_now()
    return RemoteCall.objects.create(
        agent=agent,
        run=run,
        call_key=key,
        host=agent.host,
        message_id=str(uuid.uuid4()),
        is_to_be_reduced=run is not None,
        deadline_at=now + timedelta(minutes=agent.deadline_minutes),
        created_at=now,
        state_changed_at=now,
        **columns,
    )


def seconds_left(call: RemoteCall) -> float:
    """Until the deadline of the call; at least one."""
    left = call.deadline_at - clock.database_now()
    return max(left.total_seconds(), 1)


def find(run_id: UUID, call_id: str) -> RemoteCall | None:
    """What was recorded for this call of a run, with its agent."""
    calls = RemoteCall.objects.filter(run_id=run_id, call_key=call_key(call_id))
    return calls.select_related("agent").first()


def begin_answer(call: RemoteCall) -> bool:
    """Commit that an answer to the open question is about to leave.

    While a person was asked, the agent's time did not run.
    """
    now = clock.database_now()
    return _move(
        call,
        {CallState.ASKING},
        CallState.SENDING,
        now=now,
        deadline_at=call.deadline_at + (now - call.state_changed_at),
        message_id=str(uuid.uuid4()),
    )


# --- What became of it ----------------------------------------------------------------


def working(call: RemoteCall, *, due_in: timedelta | None) -> bool:
    """The agent has a task and works; looked at again after `due_in`, if at all."""
    now = clock.database_now()
    due_at = None if due_in is None else now + due_in
    return _move(call, UNDER_WAY, CallState.WORKING, now=now, due_at=due_at)


def asks(call: RemoteCall, asked: Asks) -> bool:
    """Its question has a key of its own, so that no earlier answer is taken for it.

    The key begins with the question's mark, which tells it when it comes again.
    """
    text = stored.dump_question(asked.question)
    return _move(
        call,
        UNDER_WAY,
        CallState.ASKING,
        question=field_of(RemoteCall, "question").seal(call.pk, text),
        question_key=f"{asked.mark}{uuid.uuid4().hex}",
        remote_question_id=asked.question_id,
    )


def asks_again(call: RemoteCall, said: str) -> bool:
    """An answer was not taken: its task waits on, and the question is open once more.

    `said` is what whoever answers next should know about it.
    """
    text = stored.with_refusal(call.question or "", said)
    return _move(
        call,
        {CallState.SENDING},
        CallState.ASKING,
        question=field_of(RemoteCall, "question").seal(call.pk, text),
        question_key=f"{answered_mark(call)}{uuid.uuid4().hex}",
    )


def answered_mark(call: RemoteCall) -> str:
    """The mark of the question that was answered last, "" where there is none."""
    return call.question_key[:-_LENGTH_OF_OWN]


def completed(call: RemoteCall, text: str) -> bool:
    return _end(call, CallState.COMPLETED, text=text)


def failed(
    call: RemoteCall, *, code: str, sentence: str, text: str = "", cancel: bool = False
) -> bool:
    """It ended badly, at the agent or for us; `cancel` tells the agent to end it too.

    `text` is what the agent said about it.
    """
    wanted: dict[str, Any] = {"cancellation": Cancellation.WANTED} if cancel else {}
    return _end(
        call, CallState.FAILED, code=code, sentence=sentence, text=text, **wanted
    )


def not_accepted(
    call: RemoteCall, *, code: str, sentence: str, text: str = "", detail: str = ""
) -> bool:
    """The agent took nothing on; `text` is what it said about it.

    What was an answer may leave its task waiting there: it is canceled.
    """
    waits = call.remote_task_id != ""
    wanted: dict[str, Any] = {"cancellation": Cancellation.WANTED} if waits else {}
    return _end(
        call,
        CallState.NOT_ACCEPTED,
        code=code,
        sentence=sentence,
        text=text,
        detail=detail,
        **wanted,
    )


def unknown(
    call: RemoteCall, *, code: str, sentence: str, text: str = "", detail: str = ""
) -> bool:
    return _end(
        call,
        CallState.UNKNOWN,
        code=code,
        sentence=sentence,
        text=text,
        detail=detail,
    )


def lost(call: RemoteCall) -> bool:
    """A process ended between sending and recording (C7).

    False where it has recorded since the call was read: it was slow, and has not ended.
    """
    return _end(
        call, CallState.UNKNOWN, expected=_as_read(call), code=CRASHED, sentence=LOST
    )


def expired(call: RemoteCall, sentence: str) -> bool:
    return _end(
        call,
        CallState.EXPIRED,
        code="deadline",
        sentence=sentence,
        cancellation=Cancellation.WANTED,
    )


def _as_read(call: RemoteCall) -> frozenset[CallState]:
    """For whoever judges by what was read, and knows nothing newer of the task."""
    return ACTIVE_STATES & {CallState(call.state)}


def _end(
    call: RemoteCall,
    state: CallState,
    *,
    expected: Collection[CallState] = ACTIVE_STATES,
    text: str = "",
    detail: str = "",
    **columns: Any,
) -> bool:
    now = clock.database_now()
    sealed = {
        name: field_of(RemoteCall, name).seal(call.pk, value)
        for name, value in (("result", text), ("detail", detail))
        if value
    }
    return _move(
        call,
        expected,
        state,
        now=now,
        ended_at=now,
        due_at=None,
        question=None,
        question_key="",
        **sealed,
        **columns,
    )


def _move(
    call: RemoteCall,
    expected: Collection[CallState],
    state: CallState,
    *,
    now: datetime | None = None,
    **columns: Any,
) -> bool:
    """Store what the agent named besides; `call` is as the row is when it was won."""
    now = now or clock.database_now()
    named = {
        "context_id": call.context_id,
        "remote_task_id": call.remote_task_id,
        "remote_state": call.remote_state,
    }
    changed = {"state": state, "state_changed_at": now, **named, **columns}
    rows = RemoteCall.objects.filter(pk=call.pk, state__in=expected)
    if not rows.update(**changed):
        return False
    for name, value in changed.items():
        setattr(call, name, value)
    return True


# --- Taken by the run -----------------------------------------------------------------


def reduce(call: RemoteCall, level: str) -> None:
    """Keep of an ended call what its run's answer level lets be kept (R15, R16)."""
    columns: dict[str, Any] = {"is_to_be_reduced": False}
    for name in ("request", "result", "detail") if level != AnswerLevel.FULL else ():
        if text := getattr(call, name):
            kept = redaction.event_content(level, text) or ""
            columns[name] = field_of(RemoteCall, name).seal(call.pk, kept)
    RemoteCall.objects.filter(pk=call.pk).update(**columns)


# --- Canceling ------------------------------------------------------------------------


def abandon(call: RemoteCall) -> bool:
    """Nobody waits for it any more: it is over here, and canceled at the agent (C9).

    A message that is still under way has no task that could be named. False where the
    call is in another state by now than it was read in.
    """
    if call.state == CallState.SENDING and not call.remote_task_id:
        return _end(
            call,
            CallState.UNKNOWN,
            expected=_as_read(call),
            code="abandoned",
            sentence=ABANDONED_AS_SENT,
        )
    return _end(
        call,
        CallState.CANCELED,
        expected=_as_read(call),
        code="abandoned",
        cancellation=Cancellation.WANTED,
    )


ABANDONED_AS_SENT = (
    "Its run ended while the message was on its way, so nobody knows what the agent made "
    "of it."
)


def cancellation_failed(call: RemoteCall) -> bool:
    """It was sent once, or tried, and is not sent again (C9)."""
    rows = RemoteCall.objects.filter(pk=call.pk, cancellation=Cancellation.SENT)
    return bool(rows.update(cancellation=Cancellation.FAILED))


def postpone(call: RemoteCall, due_in: timedelta) -> bool:
    """A poll told nothing new; the next one comes after `due_in`."""
    rows = RemoteCall.objects.filter(pk=call.pk, state=CallState.WORKING)
    due_at = clock.database_now() + due_in
    return bool(
        rows.update(due_at=due_at, polls=F("polls") + 1, remote_state=call.remote_state)
    )


# --- Looking up -----------------------------------------------------------------------


def found(call: RemoteCall, sentence: str) -> None:
    """What an administrator found out at the agent; the state stays as it is (C7)."""
    columns = {"found": sentence, "looked_up_at": clock.database_now()}
    RemoteCall.objects.filter(pk=call.pk).update(**columns)
    for name, value in columns.items():
        setattr(call, name, value)


def hold(call: RemoteCall, due_in: timedelta) -> bool:
    """Whoever calls this looks at the call itself; nobody else does for `due_in`."""
    rows = RemoteCall.objects.filter(pk=call.pk, state=CallState.WORKING)
    return bool(rows.update(due_at=clock.database_now() + due_in))
