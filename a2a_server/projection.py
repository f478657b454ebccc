"""From a move of a run to the state of its task (S60–S63).

A receiver of `run_changed`: it runs inside the transaction of the move, so that task,
counters and events are stored with it or not at all. The move's UPDATE holds the run's
row, which is why two changes of one task cannot meet here.

A run goes through more states than its task: whatever happens inside WORKING moves
nothing, and SUBMITTED never comes back.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from django.db import transaction

from a2a_protocol import proto_json
from a2a_server import counters, documents, waiting, writes
from a2a_server.documents import FAILURE_SENTENCES, TaskName
from a2a_server.models import Task, TaskEvent, TaskState
from a2a_server.models.task import TERMINAL_STATES
from agent_runs import handlers
from agent_runs.contents import Result, TextPart
from agent_runs.encryption import field_of
from agent_runs.models import EndReason, RunState
from agent_runs.statements import Insert, Select, Update, value
from agent_runs.waiting import OpenQuestion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from a2a_protocol import types
    from agent_runs.contents import Part
    from agent_runs.signals import RunChange

TASK_STATES: Final[Mapping[RunState, TaskState]] = MappingProxyType(
    {
        # A run that is queued again has been worked on.
        RunState.QUEUED: TaskState.WORKING,
        RunState.RUNNING: TaskState.WORKING,
        RunState.WAITING_FOR_APPROVAL: TaskState.WORKING,
        RunState.WAITING_FOR_REMOTE: TaskState.WORKING,
        RunState.WAITING_FOR_INPUT: TaskState.INPUT_REQUIRED,
        RunState.COMPLETED: TaskState.COMPLETED,
        RunState.FAILED: TaskState.FAILED,
        RunState.CANCELED: TaskState.CANCELED,
        RunState.REJECTED: TaskState.REJECTED,
    }
)
_COLUMNS: Final = (
    *("client_id", "context_id", "state", "status_at", "artifacts", "events_written"),
    *("profile__may_write", "run__handler", "run__has_effects"),
)


def _of_run(*more: str) -> Select[Task]:
    return Select(
        lambda: (
            Task.objects.filter(run_id=value(Task, "run_id"))
            .select_related("run", "profile")
            .only(*_COLUMNS, *more)
        )
    )


_OF_RUN: Final = _of_run()
# A history can be long, and only a question is added to it here.
_OF_ASKING_RUN: Final = _of_run("history")


def _storing(texts: Iterable[str]) -> Update:
    """The UPDATE of a task that changes these of its texts."""
    columns = ("state", "status_at", "events_written", *texts)
    return Update(
        lambda: Task.objects.filter(pk=value(Task, "id")),
        lambda: {name: value(Task, name) for name in columns},
    )


# By the texts that a move changes.
_UPDATES: Final[Mapping[frozenset[str], Update]] = MappingProxyType(
    {
        frozenset(texts): _storing(texts)
        for texts in (
            ("head",),
            ("head", "history"),
            ("head", "artifacts"),
            ("head", "reply"),
            ("head", "artifacts", "reply"),
        )
    }
)
_APPEND: Final = Insert(TaskEvent, "id", "task_id", "sequence", "payload", "created_at")
_UNEXPLAINED_REFUSAL: Final = "The skill does not take this input."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Projected:
    """What the change makes of the task besides its state."""

    message: types.Message | None = None
    artifacts: tuple[types.Artifact, ...] = ()
    is_reply: bool = False
    is_question: bool = False


def project(*, change: RunChange, **_: Any) -> None:
    """Move the task of the run, if it has one."""
    state = TASK_STATES[change.state]
    statement = _OF_ASKING_RUN if state is TaskState.INPUT_REQUIRED else _OF_RUN
    task = statement.first(run_id=change.run_id)
    if task is None or task.state in {state, *TERMINAL_STATES}:
        return
    name = TaskName(task_id=task.pk, context_id=task.context_id)
    projected = _project(change, task, name)
    at = max(change.at, task.status_at)
    status = documents.status(state, at=at, message=projected.message)
    _update(task, state, status, projected, name=name, at=at)
    _append_events(task, status, projected, name=name, at=at)
    counters.move(task.client_id, task.state, state)
    transaction.on_commit(partial(waiting.notify, task.pk, state), robust=True)


# --- What is said ---------------------------------------------------------------------


def _project(change: RunChange, task: Task, name: TaskName) -> _Projected:
    if isinstance(change.waiting, OpenQuestion):
        message = documents.question(
            change.waiting, name=name, message_id=str(uuid.uuid4())
        )
        return _Projected(message=message, is_question=True)
    if change.state is RunState.COMPLETED:
        return _of_result(change.result or Result(), task, name)
    if change.state is RunState.FAILED:
        message = _sentence(_failure_sentence(change), name)
        return _Projected(message=message, artifacts=writes.artifacts_of(task))
    if change.state is RunState.CANCELED:
        return _Projected(artifacts=writes.artifacts_of(task))
    if change.state is RunState.REJECTED:
        text = change.detail or _UNEXPLAINED_REFUSAL
        return _Projected(message=_sentence(text, name))
    return _Projected()


def _failure_sentence(change: RunChange) -> str:
    try:
        return FAILURE_SENTENCES[EndReason(change.end_reason)]
    except (KeyError, ValueError):
        # A run that ends must not be kept from it by a sentence.
        return FAILURE_SENTENCES[EndReason.NOT_RETRYABLE]


def _of_result(result: Result, task: Task, name: TaskName) -> _Projected:
    first = documents.count_artifacts(task.artifacts) + 1
    artifacts = tuple(
        documents.artifact(output, number=number)
        for number, output in enumerate(result.outputs, first)
    )
    parts = result.message or _note_parts(result)
    return _Projected(
        message=_message(parts, name) if parts else None,
        artifacts=(*artifacts, *writes.artifacts_of(task)),
        is_reply=bool(result.message) and _answers_with_message(task),
    )


def _note_parts(result: Result) -> tuple[Part, ...]:
    return (TextPart(text=result.note),) if result.note else ()


def _answers_with_message(task: Task) -> bool:
    handler = handlers.find(task.run.handler)
    return handler is not None and handler.answers_with_message


def _sentence(text: str, name: TaskName) -> types.Message:
    return _message((TextPart(text=text),), name)


def _message(parts: Sequence[Part], name: TaskName) -> types.Message:
    return documents.agent_message(parts, name=name, message_id=str(uuid.uuid4()))


# --- What is stored -------------------------------------------------------------------


def _update(
    task: Task,
    state: TaskState,
    status: types.TaskStatus,
    projected: _Projected,
    *,
    name: TaskName,
    at: datetime,
) -> None:
    texts = {"head": documents.head(name, status)}
    if projected.is_question and projected.message:
        texts["history"] = documents.with_message(task.history, projected.message)
    if projected.artifacts:
        texts["artifacts"] = documents.with_artifacts(
            task.artifacts, projected.artifacts
        )
    if projected.is_reply and projected.message:
        texts["reply"] = proto_json.write_text(projected.message)
    _UPDATES[frozenset(texts)].execute(
        id=task.pk,
        state=state,
        status_at=at,
        events_written=task.events_written + 1 + len(projected.artifacts),
        **{key: field_of(Task, key).seal(task.pk, text) for key, text in texts.items()},
    )


def _append_events(
    task: Task,
    status: types.TaskStatus,
    projected: _Projected,
    *,
    name: TaskName,
    at: datetime,
) -> None:
    """The artifacts first: nothing follows the event that ends a task."""
    payloads = [documents.artifact_event(one, name=name) for one in projected.artifacts]
    payloads.append(documents.status_event(status, name=name))
    for number, payload in enumerate(payloads, task.events_written + 1):
        event_id = uuid.uuid4()
        _APPEND.execute(
            id=event_id,
            task_id=task.pk,
            sequence=number,
            payload=field_of(TaskEvent, "payload").seal(event_id, payload),
            created_at=at,
        )
