"""SendMessage: decide, store, answer or wait (S39–S47, S70–S72).

The first refusal answers, in the order of S39, and a refusal stores nothing: a waiting
slot that was taken is given back at every later one.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.db import IntegrityError

from a2a_protocol import proto_json, types
from a2a_protocol.errors import ProtocolError, invalid_params
from a2a_server import (
    admission,
    conf,
    follow_ups,
    inputs,
    messages,
    own_tasks,
    skills,
)
from a2a_server.admission import NewTask
from a2a_server.errors import Reason, refuse
from a2a_server.follow_ups import FollowUp
from a2a_server.limits import waiting_slots
from a2a_server.models.task import ACTIVE_STATES
from a2a_server.operations.calls import Reply, Wait
from agent_runs import clock, workers
from agent_runs.deciding import NotWaiting

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from a2a_server.limits import Slot
    from a2a_server.models import Task
    from a2a_server.operations.calls import Call

_NO_CONFIGURATION: Final = types.SendMessageConfiguration()


def send_message(call: Call) -> Reply | Wait:
    request = _read(call)
    earlier = _find_earlier(call, request)
    if earlier is None and not request.message.task_id:
        return _take(call, _choose(call, request))
    if earlier is None:
        return _follow_up(call, request)
    return _answer(call, request, earlier)


def _follow_up(call: Call, request: types.SendMessageRequest) -> Reply | Wait:
    try:
        judged = _judge(call, request)
    except ProtocolError:
        # The same message may have been taken, and its task gone on, since the look.
        earlier = _find_earlier(call, request)
        if earlier is None:
            raise
        return _answer(call, request, earlier)
    return _take(call, judged)


def _take(call: Call, judged: NewTask | FollowUp) -> Reply | Wait:
    request, now = judged.request, clock.database_now()
    if not workers.is_worker_available(now):
        raise refuse(Reason.WORKER_UNAVAILABLE)
    slot = None if _is_immediate(request) else _take_slot(call)
    try:
        task = _store(call, judged, now=now)
        return _answer(call, request, task, slot=slot)
    except BaseException:
        _release(slot)
        raise


# --- Parameters -----------------------------------------------------------------------


def _read(call: Call) -> types.SendMessageRequest:
    request = proto_json.read(types.SendMessageRequest, call.params)
    if _configuration(request).task_push_notification_config is not None:
        raise refuse(Reason.PUSH_NOTIFICATION_NOT_SUPPORTED)
    message = request.message
    if message.role is not types.Role.ROLE_USER:
        raise invalid_params("message.role", "A client's message has ROLE_USER.")
    if all(part.text is not None and not part.text.strip() for part in message.parts):
        raise invalid_params("message.parts", "There is only blank text.")
    if message.task_id and not message.task_id.strip():
        raise invalid_params("message.taskId", "It is blank.")
    return request


def _configuration(request: types.SendMessageRequest) -> types.SendMessageConfiguration:
    return request.configuration or _NO_CONFIGURATION


def _is_immediate(request: types.SendMessageRequest) -> bool:
    return _configuration(request).return_immediately


# --- Deciding -------------------------------------------------------------------------


def _judge(call: Call, request: types.SendMessageRequest) -> FollowUp:
    task_id = request.message.task_id
    task = own_tasks.find_with_skill(call.caller.client_id, task_id)
    call.facts.task_id = task_id
    call.facts.skill_id = task.profile.skill_id
    return follow_ups.judge(task, request)


def _choose(call: Call, request: types.SendMessageRequest) -> NewTask:
    named = skills.named_skill(request.metadata)
    profile = skills.choose(call.caller, named)
    call.facts.skill_id = profile.skill_id
    run_input = inputs.run_input(
        request, skill_id=profile.skill_id, handler=skills.handler_of(profile)
    )
    # A client's own is never replaced, whatever it looks like (S49).
    own_context = request.message.context_id
    return NewTask(
        caller=call.caller,
        profile=profile,
        request=request,
        run_input=run_input,
        context_id=own_context or str(uuid.uuid4()),
    )


def _take_slot(call: Call) -> Slot:
    return waiting_slots.acquire(call.caller.client_id, call.caller.task_limit)


def _release(slot: Slot | None) -> None:
    if slot is not None:
        waiting_slots.release(slot)


def _store(call: Call, judged: NewTask | FollowUp, *, now: datetime) -> Task:
    try:
        if isinstance(judged, FollowUp):
            return follow_ups.store(judged, teller=call.caller.client_name, now=now)
        return admission.store(judged, now=now)
    except (IntegrityError, NotWaiting) as error:
        # Perhaps a message of this id was stored since it was looked for.
        earlier = _find_earlier(call, judged.request)
        if earlier is not None:
            return earlier
        raise _refusal_for(error, judged) from None


def _refusal_for(error: Exception, judged: NewTask | FollowUp) -> Exception:
    """What a client is told of a conflict that was no repeat."""
    if isinstance(error, NotWaiting):
        return refuse(Reason.TASK_NOT_WAITING)
    if isinstance(judged, NewTask) and not admission.is_still_possible(judged):
        return refuse(Reason.PROFILE_UNAVAILABLE)
    return error


def _find_earlier(call: Call, request: types.SendMessageRequest) -> Task | None:
    task = messages.find_task(call.caller.client_id, request)
    if task is not None:
        call.facts.skill_id = task.profile.skill_id
    return task


# --- Answering ------------------------------------------------------------------------


def _answer(
    call: Call,
    request: types.SendMessageRequest,
    task: Task,
    *,
    slot: Slot | None = None,
) -> Reply | Wait:
    call.facts.task_id = str(task.pk)
    length = _configuration(request).history_length
    if _is_immediate(request):
        _release(slot)
        return _task_reply(task, length)
    if task.state not in ACTIVE_STATES:
        _release(slot)
        return _settled_reply(task, length)
    return Wait(
        task_id=task.pk,
        slot=slot or _take_slot(call),
        seconds=conf.blocking_wait().total_seconds(),
        finish=_Finish(
            client_id=call.caller.client_id, task_id=task.pk, history_length=length
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finish:
    """Reads the task when it may have settled, in one query."""

    client_id: int
    task_id: UUID
    history_length: int | None

    def __call__(self, *, is_last: bool) -> Reply | None:
        task = own_tasks.find(self.client_id, str(self.task_id))
        if task.state not in ACTIVE_STATES:
            return _settled_reply(task, self.history_length)
        if is_last:
            # The client learns the id here, perhaps for the first time.
            raise refuse(
                Reason.BLOCKING_DEADLINE_EXCEEDED,
                metadata={"taskId": str(self.task_id)},
            )
        return None


def _settled_reply(task: Task, history_length: int | None) -> Reply:
    """The plain message, where the handler answered with one (S62)."""
    if task.reply is not None:
        return Reply(result_json=f'{{"message":{task.reply}}}')
    return _task_reply(task, history_length)


def _task_reply(task: Task, history_length: int | None) -> Reply:
    text = own_tasks.text_of(task, history_length=history_length)
    return Reply(result_json=f'{{"task":{text}}}')
