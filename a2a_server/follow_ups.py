"""A message to a task: judged, and stored as the answer to its question (S70–S72).

Judging stores nothing. Storing is one transaction: the run is handed back to the workers,
its task works again, and the message is known and part of the history. The run's row is
locked first of all, as every other move does, then the message id, and only then the task
and the counters: whoever stores the same id elsewhere holds nothing that this waits for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from django.db import transaction

from a2a_protocol.errors import invalid_params
from a2a_server import answers, documents, messages, own_tasks, skills
from a2a_server.documents import TaskName
from a2a_server.errors import Reason, refuse
from a2a_server.models import Task, TaskState
from a2a_server.models.task import TERMINAL_STATES
from agent_runs import deciding
from agent_runs.deciding import NotWaiting, Teller
from agent_runs.encryption import field_of
from agent_runs.models import AgentRun
from agent_runs.statements import Select, Update, value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from a2a_protocol import types
    from a2a_protocol.json_text import JSONValue
    from agent_runs.waiting import OpenQuestion

_LOCK_RUN: Final[Select[Any]] = Select(
    lambda: (
        AgentRun.objects.select_for_update(no_key=True)
        .filter(id=value(AgentRun, "id"))
        .values_list("id", flat=True)
    )
)
_KEEP: Final = Update(
    lambda: Task.objects.filter(pk=value(Task, "id")),
    lambda: {"history": value(Task, "history")},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUp:
    """An answer that was found good for the question of this id."""

    task: Task
    request: types.SendMessageRequest
    question_id: str
    given: str | Mapping[str, JSONValue]


# --- Judging --------------------------------------------------------------------------


def judge(task: Task, request: types.SendMessageRequest) -> FollowUp:
    """Whether this message answers what the client's own task asks (S70, S71)."""
    _refuse_elsewhere(task, request)
    asked = _open_question(task)
    named = answers.named_question(request.message)
    if named and named != asked.id:
        field = answers.question_field()
        raise invalid_params(field, "The task waits with another question.")
    given = answers.read(asked.question, request.message)
    return FollowUp(task=task, request=request, question_id=asked.id, given=given)


def _refuse_elsewhere(task: Task, request: types.SendMessageRequest) -> None:
    message = request.message
    if message.context_id and message.context_id != task.context_id:
        raise invalid_params("message.contextId", "The task has another context.")
    named = skills.named_skill(request.metadata)
    if named is not None and named != task.profile.skill_id:
        raise invalid_params("metadata", "The task belongs to another skill.")


def _open_question(task: Task) -> OpenQuestion:
    if task.state in TERMINAL_STATES:
        raise refuse(Reason.TASK_TERMINAL)
    if task.state != TaskState.INPUT_REQUIRED:
        raise refuse(Reason.TASK_NOT_WAITING)
    try:
        _, asked = deciding.open_question(task.run_id)
    except NotWaiting:
        # Somebody has answered since the task was read.
        raise refuse(Reason.TASK_NOT_WAITING) from None
    return asked


# --- Storing --------------------------------------------------------------------------


def store(follow_up: FollowUp, *, teller: str, now: datetime) -> Task:
    """The task as it is afterwards; `teller` is who answered, for the run's history.

    Raises NotWaiting when somebody was faster, and IntegrityError for a message id that
    was stored meanwhile; nothing is stored then.
    """
    task, request = follow_up.task, follow_up.request
    with transaction.atomic():
        if _LOCK_RUN.first(id=task.run_id) is None:
            raise NotWaiting
        messages.insert(request, client_id=task.client_id, task_id=task.pk, now=now)
        deciding.answer(
            task.run_id,
            follow_up.given,
            by=Teller(name=teller),
            question_id=follow_up.question_id,
            message_id=request.message.message_id,
        )
        return _with_message(task, request.message)


def _with_message(judged: Task, message: types.Message) -> Task:
    """Read again behind the lock, with the message as the last of its history (S63)."""
    task = own_tasks.find(judged.client_id, str(judged.pk))
    name = TaskName(task_id=task.pk, context_id=task.context_id)
    kept = documents.client_message(message, name=name)
    task.history = documents.with_message(task.history, kept)
    sealed = field_of(Task, "history").seal(task.pk, task.history)
    _KEEP.execute(id=task.pk, history=sealed)
    return task
