"""A task's document as JSON text: made once, cut and joined without being parsed again.

Pure: ids and moments are passed in. A document is three texts (`Document`): the head
(everything but the lists), the history and the artifacts. An array has one element a
line, joined with `,\\n`. An element is compact JSON, which never holds a raw line break,
so the last n elements are found by splitting and a new one is appended by joining.

What handlers and models produced is cleaned on its way in (S15).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from a2a_protocol import proto_json, types
from a2a_protocol.cards import PROFILE_EXTENSION_URI
from a2a_protocol.errors import LocalError
from a2a_protocol.json_text import clean_text, clean_value
from agent_runs.contents import DataPart, FilePart, TextPart
from agent_runs.models import EndReason
from agent_runs.waiting import as_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from agent_runs.contents import JSONValue, Output, Part
    from agent_runs.waiting import OpenQuestion

KEPT_MESSAGES: Final = 100
_SEPARATOR: Final = ",\n"
# An array without elements.
EMPTY: Final = "[]"

# What a client is told of a failure (S60). Nothing internal, and a hint where the client
# can do something about it.
FAILURE_SENTENCES: Final[Mapping[EndReason, str]] = MappingProxyType(
    {
        EndReason.MAX_ROUNDS: "The agent found no answer within its limit of steps.",
        EndReason.BUDGET_EXHAUSTED: "The budget for this work is used up.",
        EndReason.POLICY_DENIED: "The result may not be kept here, so it was discarded.",
        EndReason.PROVIDER_FAILED: "The language model did not accept the request.",
        EndReason.CONTEXT_EXCEEDED: "The input is too long for the language model.",
        EndReason.RETRIES_EXHAUSTED: "The work failed on every try. Send it again later.",
        EndReason.NOT_RETRYABLE: "The work failed unexpectedly.",
        EndReason.WAIT_EXPIRED: "An answer that the work needed did not come in time.",
        EndReason.PRECONDITION_FAILED: "The work is no longer permitted.",
        EndReason.LEASE_LOST_AFTER_WRITE: "The work was interrupted after it had changed "
        "something, and was not started again.",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskName:
    """The two ids that everything about a task carries."""

    task_id: UUID
    context_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """`artifacts` is None while there are none."""

    head: str
    history: str
    artifacts: str | None = None


# --- Parts, messages, artifacts -------------------------------------------------------


def agent_message(
    parts: Sequence[Part], *, name: TaskName, message_id: str
) -> types.Message:
    return types.Message(
        message_id=message_id,
        context_id=name.context_id,
        task_id=str(name.task_id),
        role=types.Role.ROLE_AGENT,
        parts=tuple(_part(part) for part in parts),
    )


def agent_sentence(text: str, *, name: TaskName, message_id: str) -> types.Message:
    return agent_message((TextPart(text=text),), name=name, message_id=message_id)


def question(asked: OpenQuestion, *, name: TaskName, message_id: str) -> types.Message:
    """What a run asks: in words for people, in the metadata for programs (S60)."""
    told: dict[str, JSONValue] = {
        "questionId": asked.id,
        "question": asked.question.text,
        "answer": asked.question.schema(),
    }
    if asked.question.details:
        told["details"] = asked.question.details
    message = agent_sentence(as_text(asked), name=name, message_id=message_id)
    metadata = _struct({PROFILE_EXTENSION_URI: told})
    extensions = (PROFILE_EXTENSION_URI,)
    return message.model_copy(update={"metadata": metadata, "extensions": extensions})


def client_message(message: types.Message, *, name: TaskName) -> types.Message:
    """The message as it is kept: it belongs to its task from now on."""
    ids = {"task_id": str(name.task_id), "context_id": name.context_id}
    return message.model_copy(update=ids)


def artifact(output: Output, *, number: int) -> types.Artifact:
    """`number` counts the task's artifacts from 1."""
    # A reader may insist on at least one part (specification 5.7).
    parts = output.parts or (TextPart(text=""),)
    return types.Artifact(
        artifact_id=f"artifact-{number}",
        name=clean_text(output.name),
        description=clean_text(output.description),
        parts=tuple(_part(part) for part in parts),
        metadata=_struct(output.metadata),
    )


def _part(part: Part) -> types.Part:
    if isinstance(part, TextPart):
        kind = _media_type(part.media_type, usual="text/plain")
        return types.Part(text=clean_text(part.text), media_type=kind)
    if isinstance(part, DataPart):
        return _data_part(part)
    return _file_part(part)


def _data_part(part: DataPart) -> types.Part:
    try:
        data = clean_value(part.data)
    except LocalError:
        # Nested deeper than a peer reads: the same JSON travels as a text.
        text = json.dumps(part.data, ensure_ascii=False)
        return types.Part(text=clean_text(text), media_type=clean_text(part.media_type))
    kind = _media_type(part.media_type, usual="application/json")
    return types.Part(data=data, media_type=kind)


def _file_part(part: FilePart) -> types.Part:
    return types.Part(
        raw=part.raw,
        url=part.url if part.raw is None else None,
        filename=clean_text(part.filename),
        media_type=clean_text(part.media_type),
    )


def _media_type(media_type: str, *, usual: str) -> str:
    return "" if media_type == usual else clean_text(media_type)


def _struct(metadata: Mapping[str, JSONValue]) -> dict[str, JSONValue] | None:
    try:
        cleaned = clean_value(dict(metadata))
    except LocalError:
        return None
    return cleaned if isinstance(cleaned, dict) and cleaned else None


# --- The document ---------------------------------------------------------------------


def status(
    state: str, *, at: datetime, message: types.Message | None = None
) -> types.TaskStatus:
    """`state` is a `TaskState` of the records; its wire name follows from it."""
    wire_state = types.TaskState(f"TASK_STATE_{state.upper()}")
    return types.TaskStatus(state=wire_state, timestamp=at, message=message)


def head(name: TaskName, task_status: types.TaskStatus) -> str:
    return proto_json.write_text(
        types.Task(id=str(name.task_id), context_id=name.context_id, status=task_status)
    )


def with_message(history: str, message: types.Message) -> str:
    """Append to a history, which keeps the most recent messages only (S63)."""
    return _last(_append(history, proto_json.write_text(message)), KEPT_MESSAGES)


def with_artifacts(array: str | None, artifacts: Iterable[types.Artifact]) -> str:
    text = array or EMPTY
    for one in artifacts:
        text = _append(text, proto_json.write_text(one))
    return text


def count_artifacts(array: str | None) -> int:
    return 0 if array in {None, EMPTY} else array.count(_SEPARATOR) + 1


def task_text(document: Document, *, history_length: int | None = None) -> str:
    """The whole task. Unset length: all messages kept; 0: no history at all (S63)."""
    text = document.head[:-1]
    if document.artifacts and document.artifacts != EMPTY:
        text += f',"artifacts":{document.artifacts}'
    history = document.history
    if history_length is not None:
        history = _last(history, history_length)
    if history != EMPTY:
        text += f',"history":{history}'
    return text + "}"


def _append(array: str, element: str) -> str:
    return f"[{element}]" if array == EMPTY else f"{array[:-1]}{_SEPARATOR}{element}]"


def _last(array: str, count: int) -> str:
    """The last `count` elements of an array, of the newest first found."""
    if count == 0 or array == EMPTY:
        return EMPTY
    found = array[1:-1].rsplit(_SEPARATOR, count)
    return f"[{_SEPARATOR.join(found[-count:])}]"


# --- Events: the StreamResponse texts of the task's log -------------------------------


def task_event(text: str) -> str:
    return f'{{"task":{text}}}'


def status_event(task_status: types.TaskStatus, *, name: TaskName) -> str:
    update = types.TaskStatusUpdateEvent(
        task_id=str(name.task_id), context_id=name.context_id, status=task_status
    )
    return f'{{"statusUpdate":{proto_json.write_text(update)}}}'


def artifact_event(whole: types.Artifact, *, name: TaskName) -> str:
    """One event that carries the whole artifact, its first and last chunk at once."""
    update = types.TaskArtifactUpdateEvent(
        task_id=str(name.task_id),
        context_id=name.context_id,
        artifact=whole,
        last_chunk=True,
    )
    return f'{{"artifactUpdate":{proto_json.write_text(update)}}}'
