"""The parameters and results of the methods: specification 3.1."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

from a2a_protocol.types.push import TaskPushNotificationConfig
from a2a_protocol.types.task import (
    Message,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatusUpdateEvent,
)
from a2a_protocol.types.wire import OneofModel, Rule, Struct, WireModel

MAX_PAGE_SIZE: Final = 100


class SendMessageConfiguration(WireModel):
    accepted_output_modes: tuple[str, ...] = ()
    task_push_notification_config: TaskPushNotificationConfig | None = None
    history_length: Annotated[int | None, Rule(minimum=0)] = None
    return_immediately: bool = False


class SendMessageRequest(WireModel):
    tenant: str = ""
    message: Message
    configuration: SendMessageConfiguration | None = None
    metadata: Struct | None = None


class SendMessageResponse(OneofModel):
    task: Annotated[Task | None, Rule(oneof="payload")] = None
    message: Annotated[Message | None, Rule(oneof="payload")] = None


class StreamResponse(OneofModel):
    task: Annotated[Task | None, Rule(oneof="payload")] = None
    message: Annotated[Message | None, Rule(oneof="payload")] = None
    status_update: Annotated[TaskStatusUpdateEvent | None, Rule(oneof="payload")] = None
    artifact_update: Annotated[
        TaskArtifactUpdateEvent | None, Rule(oneof="payload")
    ] = None


class GetTaskRequest(WireModel):
    tenant: str = ""
    id: Annotated[str, Rule(filled=True)]
    history_length: Annotated[int | None, Rule(minimum=0)] = None


class ListTasksRequest(WireModel):
    tenant: str = ""
    context_id: str = ""
    status: TaskState = TaskState.TASK_STATE_UNSPECIFIED
    page_size: Annotated[int | None, Rule(minimum=1, maximum=MAX_PAGE_SIZE)] = None
    page_token: str = ""
    history_length: Annotated[int | None, Rule(minimum=0)] = None
    status_timestamp_after: datetime | None = None
    include_artifacts: bool | None = None


class ListTasksResponse(WireModel):
    tasks: tuple[Task, ...]
    next_page_token: str
    page_size: int
    total_size: int


class CancelTaskRequest(WireModel):
    tenant: str = ""
    id: Annotated[str, Rule(filled=True)]
    metadata: Struct | None = None


class SubscribeToTaskRequest(WireModel):
    tenant: str = ""
    id: Annotated[str, Rule(filled=True)]


class GetTaskPushNotificationConfigRequest(WireModel):
    tenant: str = ""
    task_id: Annotated[str, Rule(filled=True)]
    id: Annotated[str, Rule(filled=True)]


class DeleteTaskPushNotificationConfigRequest(WireModel):
    tenant: str = ""
    task_id: Annotated[str, Rule(filled=True)]
    id: Annotated[str, Rule(filled=True)]


class ListTaskPushNotificationConfigsRequest(WireModel):
    tenant: str = ""
    task_id: Annotated[str, Rule(filled=True)]
    # Without presence: 0 is unset here, unlike in ListTasks.
    page_size: Annotated[int, Rule(minimum=0)] = 0
    page_token: str = ""


class ListTaskPushNotificationConfigsResponse(WireModel):
    configs: tuple[TaskPushNotificationConfig, ...] = ()
    next_page_token: str = ""


class GetExtendedAgentCardRequest(WireModel):
    tenant: str = ""
