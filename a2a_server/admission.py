"""Storing a new task, or refusing it for a limit: one transaction (S43, S47, S48, S50).

The locks make the limits exact: the client's row, then the profile's if it has a quota,
always in this order, and only then the counts. A count in the statement that waits for
the lock would see the moment before it. The message id is inserted before anything is
counted, so that of two messages with one id the second finds the first instead of a
limit that the first has reached.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Count

from a2a_server import contexts, counters, documents, messages, skills
from a2a_server.documents import Document, TaskName
from a2a_server.errors import Reason, refuse
from a2a_server.models import Client, Profile, Task, TaskEvent, TaskState
from a2a_server.models.task import ACTIVE_STATES
from agent_runs import queue
from agent_runs.encryption import field_of
from agent_runs.models import Workspace
from agent_runs.statements import Insert, Select, value

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from django.db.models import QuerySet

    from a2a_protocol import types
    from agent_runs.contents import RunInput


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """What every check before the transaction has let through.

    `tools` are those that its run is given.
    """

    caller: skills.Caller
    profile: Profile
    request: types.SendMessageRequest
    run_input: RunInput
    context_id: str
    tools: tuple[str, ...] = ()


def store(new: NewTask, *, now: datetime) -> Task:
    """Insert message, run, task and first event.

    Raises ProtocolError for a limit, and IntegrityError for a message id that somebody
    else stored meanwhile or a record that somebody deleted; nothing is stored then.
    """
    name = TaskName(task_id=uuid.uuid4(), context_id=new.context_id)
    client_id = new.caller.client_id
    new = _equipped(new)
    with transaction.atomic():
        task_limit, quota = _lock(new)
        messages.insert(new.request, client_id=client_id, task_id=name.task_id, now=now)
        _refuse_over_limits(new, task_limit=task_limit, quota=quota)
        task = _insert_task(new, name, now=now)
        counters.add(client_id, TaskState.SUBMITTED)
    return task


def _equipped(new: NewTask) -> NewTask:
    """With what its run is given; read before anything is locked."""
    user_id = new.caller.technical_user_id
    return replace(
        new,
        tools=skills.given_tools(new.profile, user_id=user_id),
        run_input=_remembering(new),
    )


def _remembering(new: NewTask) -> RunInput:
    """With what was said earlier, where the client named a context (S49)."""
    if not new.profile.remember_context or not new.request.message.context_id:
        return new.run_input
    earlier = contexts.earlier_turns(
        client_id=new.caller.client_id,
        profile_id=new.profile.pk,
        context_id=new.context_id,
    )
    return replace(new.run_input, earlier=earlier)


_LOCK_CLIENT: Final = Select(
    lambda: (
        Client.objects.select_for_update(no_key=True)
        .filter(pk=value(Client, "id"))
        .values_list("task_limit", flat=True)
    )
)
_LOCK_PROFILE: Final = Select(
    lambda: (
        Profile.objects.select_for_update(no_key=True)
        .filter(pk=value(Profile, "id"))
        .values_list("active_task_quota", flat=True)
    )
)
_COUNT_OF_CLIENT: Final = Select(lambda: _count_active("client_id"))
_COUNT_OF_PROFILE: Final = Select(lambda: _count_active("profile_id"))
_INSERT_TASK: Final = Insert(
    Task,
    "id",
    "client_id",
    "profile_id",
    "run_id",
    "context_id",
    "head",
    "history",
    state=TaskState.SUBMITTED,
    status_at=value(Task, "status_at", "now"),
    created_at=value(Task, "created_at", "now"),
    events_written=1,
)
_INSERT_EVENT: Final = Insert(
    TaskEvent, "id", "task_id", "payload", "created_at", sequence=1
)


def is_still_possible(new: NewTask) -> bool:
    """Whether the records that a task belongs to are there: one may have been deleted."""
    users = get_user_model().objects.filter(pk=new.caller.technical_user_id)
    return Profile.objects.filter(pk=new.profile.pk).exists() and users.exists()


def _count_active(column: str) -> QuerySet[Any, int]:
    active = Task.objects.filter(state__in=ACTIVE_STATES)
    counted = active.values(column).annotate(total=Count("pk"))
    rows: QuerySet[Any, int] = counted.filter(
        **{column: value(Task, column)}
    ).values_list("total", flat=True)
    return rows


def _lock(new: NewTask) -> tuple[int, int]:
    """The client's limit and the profile's quota, both held until the commit."""
    task_limit = _locked(_LOCK_CLIENT, new.caller.client_id)
    if not new.profile.active_task_quota:
        return task_limit, 0
    return task_limit, _locked(_LOCK_PROFILE, new.profile.pk)


def _locked(statement: Select[int], pk: int) -> int:
    found = statement.first(id=pk)
    if found is None:
        # Deleted since it was read: nothing is to be stored for it.
        raise refuse(Reason.PROFILE_UNAVAILABLE)
    return found


def _refuse_over_limits(new: NewTask, *, task_limit: int, quota: int) -> None:
    of_client = _COUNT_OF_CLIENT.first(client_id=new.caller.client_id)
    if (of_client or 0) >= task_limit:
        raise refuse(Reason.CLIENT_TASK_LIMIT_REACHED)
    if quota and (_COUNT_OF_PROFILE.first(profile_id=new.profile.pk) or 0) >= quota:
        raise refuse(Reason.PROFILE_QUOTA_REACHED)


def _insert_task(new: NewTask, name: TaskName, *, now: datetime) -> Task:
    status = documents.status(TaskState.SUBMITTED, at=now)
    message = documents.client_message(new.request.message, name=name)
    document = Document(
        head=documents.head(name, status),
        history=documents.with_message(documents.EMPTY, message),
    )
    task = Task(
        id=name.task_id,
        client_id=new.caller.client_id,
        profile=new.profile,
        run_id=_enqueue(new, now=now),
        context_id=name.context_id,
        head=document.head,
        history=document.history,
    )
    _INSERT_TASK.execute(
        id=task.pk,
        client_id=task.client_id,
        profile_id=task.profile_id,
        run_id=task.run_id,
        context_id=task.context_id,
        head=field_of(Task, "head").seal(task.pk, document.head),
        history=field_of(Task, "history").seal(task.pk, document.history),
        now=now,
    )
    _insert_first_event(name, document, now=now)
    return task


def _enqueue(new: NewTask, *, now: datetime) -> UUID:
    caller, profile = new.caller, new.profile
    workspace = Workspace(pk=caller.workspace_id) if caller.workspace_id else None
    return queue.enqueue(
        owner=get_user_model()(pk=caller.technical_user_id),
        handler=profile.handler,
        run_input=new.run_input,
        configuration=skills.configuration_of(profile),
        workspace=workspace,
        tools=new.tools,
        now=now,
    )


def _insert_first_event(name: TaskName, document: Document, *, now: datetime) -> None:
    id_ = uuid.uuid4()
    text = documents.task_event(documents.task_text(document))
    _INSERT_EVENT.execute(
        id=id_,
        task_id=name.task_id,
        payload=field_of(TaskEvent, "payload").seal(id_, text),
        created_at=now,
    )
