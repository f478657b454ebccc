"""GetTask, ListTasks and CancelTask (S63–S66).

A document leaves as the text it was stored as.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.db.models import Sum

from a2a_protocol import proto_json, types
from a2a_protocol.json_text import dump_json
from a2a_server import own_tasks, pagination
from a2a_server.errors import Reason, refuse
from a2a_server.models import ClientProfile, TaskCounter, TaskState
from a2a_server.models.task import TERMINAL_STATES
from a2a_server.operations.calls import Reply
from a2a_server.pagination import Walk
from agent_runs import lifecycle

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from a2a_server.models import Task
    from a2a_server.operations.calls import Call

_USUAL_PAGE_SIZE: Final = 50
# A head can be long as well, but is always sent.
_LONG_COLUMNS: Final = frozenset({"head", "history", "artifacts"})


def get_task(call: Call) -> Reply:
    request = proto_json.read(types.GetTaskRequest, call.params)
    task = own_tasks.find(own_tasks.tasks_of(call.caller.client_id), request.id)
    call.facts.task_id = request.id
    text = own_tasks.text_of(task, history_length=request.history_length)
    return Reply(result_json=text)


def cancel_task(call: Call) -> Reply:
    """Whoever's guarded UPDATE wins decides a race with the task's own end (S66)."""
    request = proto_json.read(types.CancelTaskRequest, call.params)
    tasks = own_tasks.tasks_of(call.caller.client_id)
    task = own_tasks.find(tasks, request.id)
    call.facts.task_id = request.id
    if task.state in TERMINAL_STATES or not lifecycle.cancel(task.run_id):
        raise refuse(Reason.TASK_NOT_CANCELABLE)
    canceled = own_tasks.find(tasks, request.id)
    return Reply(result_json=own_tasks.text_of(canceled))


# --- ListTasks ------------------------------------------------------------------------


def list_tasks(call: Call) -> Reply:
    request = proto_json.read(types.ListTasksRequest, call.params)
    size = _USUAL_PAGE_SIZE if request.page_size is None else request.page_size
    # Asks which skills the client has, so only where there is a token to read or make.
    walk = _walk(call, request) if request.page_token else None
    position = pagination.read_token(walk, request.page_token) if walk else None
    tasks = _matching(call, request)
    page, next_position = pagination.page_after(
        tasks, position, size, weighed=_shown_columns(request)
    )
    token = ""
    if next_position:
        walk = walk or _walk(call, request)
        token = pagination.make_token(walk, next_position)
    return Reply(
        result_json=_list_text(
            [_text_in_list(task, request) for task in page],
            token=token,
            size=size,
            total=_total(call, request, tasks),
        )
    )


def _matching(call: Call, request: types.ListTasksRequest) -> QuerySet[Task]:
    tasks = own_tasks.tasks_of(call.caller.client_id)
    tasks = tasks.defer(*_LONG_COLUMNS.difference(_shown_columns(request)))
    if state := _state(request):
        tasks = tasks.filter(state=state)
    if context_id := request.context_id:
        tasks = tasks.filter(context_id=context_id)
    if request.status_timestamp_after is not None:
        tasks = tasks.filter(status_at__gte=request.status_timestamp_after)
    return tasks


def _shown_columns(request: types.ListTasksRequest) -> list[str]:
    hidden = set() if request.include_artifacts else {"artifacts"}
    if request.history_length == 0:
        hidden.add("history")
    return sorted(_LONG_COLUMNS - hidden)


def _total(call: Call, request: types.ListTasksRequest, tasks: QuerySet[Task]) -> int:
    if request.context_id or request.status_timestamp_after is not None:
        return tasks.count()
    counters = TaskCounter.objects.filter(client_id=call.caller.client_id)
    if state := _state(request):
        counters = counters.filter(state=state)
    return int(counters.aggregate(total=Sum("count", default=0))["total"])


def _walk(call: Call, request: types.ListTasksRequest) -> Walk:
    skills = ClientProfile.objects.filter(client_id=call.caller.client_id)
    return Walk(
        client_id=call.caller.client_id,
        base_url=call.base_url,
        skills=list(skills.values_list("profile_id", flat=True)),
        context_id=request.context_id,
        state=_state(request),
        status_after=request.status_timestamp_after,
    )


def _state(request: types.ListTasksRequest) -> str:
    """The state in the records' spelling; empty where none is asked for."""
    if request.status is types.TaskState.TASK_STATE_UNSPECIFIED:
        return ""
    return TaskState[request.status.removeprefix("TASK_STATE_")].value


def _text_in_list(task: Task, request: types.ListTasksRequest) -> str:
    return own_tasks.text_of(
        task,
        history_length=request.history_length,
        include_artifacts=bool(request.include_artifacts),
    )


def _list_text(texts: list[str], *, token: str, size: int, total: int) -> str:
    return (
        f'{{"tasks":[{",".join(texts)}],"nextPageToken":{dump_json(token)},'
        f'"pageSize":{size},"totalSize":{total}}}'
    )
