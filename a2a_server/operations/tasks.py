"""GetTask, ListTasks and CancelTask (S63–S66).

A document leaves as the text it was stored as.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from django.db.models import Count, Sum

from a2a_protocol import proto_json, types
from a2a_protocol.json_text import dump_json
from a2a_server import own_tasks, pagination
from a2a_server.errors import Reason, refuse
from a2a_server.models import ClientProfile, Task, TaskCounter, TaskState
from a2a_server.models.task import TERMINAL_STATES
from a2a_server.operations.calls import Reply
from a2a_server.pagination import Walk
from agent_runs import lifecycle
from agent_runs.statements import Select, value

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from a2a_server.operations.calls import Call

_USUAL_PAGE_SIZE: Final = 50
# A head can be long as well, but is always sent.
_LONG_COLUMNS: Final = frozenset({"head", "history", "artifacts"})


def get_task(call: Call) -> Reply:
    request = proto_json.read(types.GetTaskRequest, call.params)
    text = own_tasks.read(
        call.caller.client_id, request.id, history_length=request.history_length
    )
    call.facts.task_id = request.id
    return Reply(result_json=text)


def cancel_task(call: Call) -> Reply:
    """Whoever's guarded UPDATE wins decides a race with the task's own end (S66)."""
    request = proto_json.read(types.CancelTaskRequest, call.params)
    task = own_tasks.find(call.caller.client_id, request.id)
    call.facts.task_id = request.id
    if task.state in TERMINAL_STATES or not lifecycle.cancel(task.run_id):
        raise refuse(Reason.TASK_NOT_CANCELABLE)
    return Reply(result_json=own_tasks.read(call.caller.client_id, request.id))


# --- ListTasks ------------------------------------------------------------------------


def list_tasks(call: Call) -> Reply:
    request = proto_json.read(types.ListTasksRequest, call.params)
    size = _USUAL_PAGE_SIZE if request.page_size is None else request.page_size
    # Asks which skills the client has, so only where there is a token to read or make.
    walk = _walk(call, request) if request.page_token else None
    position = pagination.read_token(walk, request.page_token) if walk else None
    rows = _page_statement(_shape(request), size, position is not None).all(
        **_given(call, request), **pagination.place(position)
    )
    page, next_position = pagination.cut(rows, size)
    token = ""
    if next_position:
        walk = walk or _walk(call, request)
        token = pagination.make_token(walk, next_position)
    return Reply(
        result_json=_list_text(
            [_text_in_list(row, request.history_length) for row in page],
            token=token,
            size=size,
            total=_total(call, request),
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """What makes one list's statement another one than another's."""

    has_state: bool
    has_context: bool
    has_after: bool
    shown: tuple[str, ...]


def _shape(request: types.ListTasksRequest) -> _Shape:
    hidden = set() if request.include_artifacts else {"artifacts"}
    if request.history_length == 0:
        hidden.add("history")
    return _Shape(
        has_state=bool(_state(request)),
        has_context=bool(request.context_id),
        has_after=request.status_timestamp_after is not None,
        shown=tuple(sorted(_LONG_COLUMNS - hidden)),
    )


def _given(call: Call, request: types.ListTasksRequest) -> dict[str, Any]:
    """The values of a list's statements, also those that its shape does not ask for."""
    return {
        "client_id": call.caller.client_id,
        "state": _state(request),
        "context_id": request.context_id,
        "status_after": request.status_timestamp_after,
    }


def _matching(shape: _Shape) -> QuerySet[Task]:
    tasks = Task.objects.filter(client_id=value(Task, "client_id"))
    if shape.has_state:
        tasks = tasks.filter(state=value(Task, "state"))
    if shape.has_context:
        tasks = tasks.filter(context_id=value(Task, "context_id"))
    if shape.has_after:
        tasks = tasks.filter(status_at__gte=value(Task, "status_at", "status_after"))
    return tasks


# Sizes differ too; whoever asks for every one of them has others built anew.
@lru_cache(maxsize=256)
def _page_statement(shape: _Shape, size: int, is_later: bool) -> Select[Any]:
    return Select(
        lambda: pagination.page(
            _matching(shape), size, shown=shape.shown, is_later=is_later
        )
    )


@cache
def _count_statement(shape: _Shape) -> Select[int]:
    return Select(
        lambda: (
            _matching(shape)
            .values("client_id")
            .annotate(total=Count("pk"))
            .values_list("total", flat=True)
        )
    )


@cache
def _counters_statement(has_state: bool) -> Select[int]:
    def make() -> QuerySet[Any, int]:
        counters = TaskCounter.objects.filter(client_id=value(TaskCounter, "client_id"))
        if has_state:
            counters = counters.filter(state=value(TaskCounter, "state"))
        totals = counters.values("client_id").annotate(total=Sum("count"))
        return totals.values_list("total", flat=True)

    return Select(make)


def _total(call: Call, request: types.ListTasksRequest) -> int:
    shape = replace(_shape(request), shown=())
    counts = shape.has_context or shape.has_after
    statement = (
        _count_statement(shape) if counts else _counters_statement(shape.has_state)
    )
    return int(statement.first(**_given(call, request)) or 0)


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


def _text_in_list(row: Any, history_length: int | None) -> str:
    # What the list does not show was not selected.
    return own_tasks.open_text(
        row.id,
        row.head,
        history=getattr(row, "history", None),
        artifacts=getattr(row, "artifacts", None),
        history_length=history_length,
    )


def _list_text(texts: list[str], *, token: str, size: int, total: int) -> str:
    return (
        f'{{"tasks":[{",".join(texts)}],"nextPageToken":{dump_json(token)},'
        f'"pageSize":{size},"totalSize":{total}}}'
    )
