"""Messages, tasks and what an agent makes: specification 4.1, and the events of 4.2.

The bounds on ids and parts are this product's and are documented for clients; the
specification sets none.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from a2a_protocol.types.wire import OneofModel, Rule, Struct, Value, WireModel

MAX_MESSAGE_ID_LENGTH: Final = 255
MAX_CONTEXT_ID_LENGTH: Final = 128
MAX_PARTS: Final = 16


class TaskState(StrEnum):
    """In the order of the proto's numbers, from 0."""

    TASK_STATE_UNSPECIFIED = "TASK_STATE_UNSPECIFIED"
    TASK_STATE_SUBMITTED = "TASK_STATE_SUBMITTED"
    TASK_STATE_WORKING = "TASK_STATE_WORKING"
    TASK_STATE_COMPLETED = "TASK_STATE_COMPLETED"
    TASK_STATE_FAILED = "TASK_STATE_FAILED"
    TASK_STATE_CANCELED = "TASK_STATE_CANCELED"
    TASK_STATE_INPUT_REQUIRED = "TASK_STATE_INPUT_REQUIRED"
    TASK_STATE_REJECTED = "TASK_STATE_REJECTED"
    TASK_STATE_AUTH_REQUIRED = "TASK_STATE_AUTH_REQUIRED"


# Specification 4.1.3: no message reopens a terminal task; an interrupted one waits for
# the client.
TERMINAL_STATES: Final = frozenset(
    {
        TaskState.TASK_STATE_COMPLETED,
        TaskState.TASK_STATE_FAILED,
        TaskState.TASK_STATE_CANCELED,
        TaskState.TASK_STATE_REJECTED,
    }
)
INTERRUPTED_STATES: Final = frozenset(
    {TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_AUTH_REQUIRED}
)


class Role(StrEnum):
    """In the order of the proto's numbers, from 0."""

    ROLE_UNSPECIFIED = "ROLE_UNSPECIFIED"
    ROLE_USER = "ROLE_USER"
    ROLE_AGENT = "ROLE_AGENT"


class Part(OneofModel):
    """``kind`` says which content it has. Data may be null and still be the content."""

    text: Annotated[str | None, Rule(oneof="content")] = None
    raw: Annotated[bytes | None, Rule(oneof="content")] = None
    url: Annotated[str | None, Rule(oneof="content")] = None
    data: Annotated[Value, Rule(oneof="content")] = None
    metadata: Struct | None = None
    filename: str = ""
    media_type: str = ""

    @property
    def set_members(self) -> tuple[str, ...]:
        members = super().set_members
        # None is both «no data» and the value null; what was given tells them apart.
        if not members and "data" in self.model_fields_set:
            return ("data",)
        return members


class Message(WireModel):
    message_id: Annotated[str, Rule(filled=True, max_length=MAX_MESSAGE_ID_LENGTH)]
    context_id: Annotated[
        str, Rule(max_length=MAX_CONTEXT_ID_LENGTH, printable=True)
    ] = ""
    task_id: str = ""
    role: Role
    # Specification 5.7 wants one element at least in every required list. Only here
    # an empty one is refused: a message without parts says nothing.
    parts: Annotated[tuple[Part, ...], Rule(filled=True, max_items=MAX_PARTS)]
    metadata: Struct | None = None
    extensions: tuple[str, ...] = ()
    reference_task_ids: tuple[str, ...] = ()


class Artifact(WireModel):
    artifact_id: Annotated[str, Rule(filled=True)]
    name: str = ""
    description: str = ""
    parts: tuple[Part, ...]
    metadata: Struct | None = None
    extensions: tuple[str, ...] = ()


class TaskStatus(WireModel):
    state: TaskState
    message: Message | None = None
    timestamp: datetime | None = None


class Task(WireModel):
    id: Annotated[str, Rule(filled=True, key=True)]
    context_id: str = ""
    status: TaskStatus
    artifacts: tuple[Artifact, ...] = ()
    history: tuple[Message, ...] = ()
    metadata: Struct | None = None


class TaskStatusUpdateEvent(WireModel):
    task_id: Annotated[str, Rule(filled=True, key=True)]
    context_id: str
    status: TaskStatus
    metadata: Struct | None = None


class TaskArtifactUpdateEvent(WireModel):
    task_id: Annotated[str, Rule(filled=True, key=True)]
    context_id: str
    artifact: Artifact
    append: bool = False
    last_chunk: bool = False
    metadata: Struct | None = None
