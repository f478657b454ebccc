"""The requests that are sent to remote agents (C5, C6, C8). Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_protocol import types
from a2a_protocol.cards import PROFILE_EXTENSION_URI

if TYPE_CHECKING:
    from a2a_client.models import RemoteCall
    from agent_runs.contents import JSONValue
    from agent_runs.questions import Answer

# What a model can make use of.
_ACCEPTED = ("text/plain", "text/markdown", "application/json")
# What agents that do not know our extension may look at.
_SKILL = "skillId"


def new_task(call: RemoteCall, text: str) -> types.SendMessageRequest:
    """The context's id is ours, so that the task can be looked up by it (C7)."""
    parts = (types.Part(text=text),)
    metadata: dict[str, JSONValue] | None = None
    if call.skill:
        metadata = {PROFILE_EXTENSION_URI: call.skill, _SKILL: call.skill}
    return _request(call, types.Message(**_named(call), parts=parts), metadata)


def answer(call: RemoteCall, given: Answer) -> types.SendMessageRequest:
    """To the agent's question: of the same task and context (C8)."""
    metadata: dict[str, JSONValue] | None = None
    if call.remote_question_id:
        metadata = {PROFILE_EXTENSION_URI: {"questionId": call.remote_question_id}}
    message = types.Message(
        **_named(call),
        task_id=call.remote_task_id,
        parts=(_answer_part(given),),
        metadata=metadata,
    )
    return _request(call, message)


def _named(call: RemoteCall) -> dict[str, object]:
    return {
        "message_id": call.message_id,
        "context_id": call.context_id,
        "role": types.Role.ROLE_USER,
    }


def _answer_part(given: Answer) -> types.Part:
    # A single value is understood as text everywhere, an object as data only.
    if isinstance(given.value, dict):
        return types.Part(data=given.value)
    return types.Part(text=given.text)


def _request(
    call: RemoteCall,
    message: types.Message,
    metadata: dict[str, JSONValue] | None = None,
) -> types.SendMessageRequest:
    configuration = types.SendMessageConfiguration(
        accepted_output_modes=_ACCEPTED, return_immediately=True, history_length=0
    )
    return types.SendMessageRequest(
        tenant=call.agent.interface_tenant,
        message=message,
        configuration=configuration,
        metadata=metadata,
    )


def task_state(call: RemoteCall) -> types.GetTaskRequest:
    return types.GetTaskRequest(
        tenant=call.agent.interface_tenant, id=call.remote_task_id, history_length=0
    )


def cancellation(call: RemoteCall) -> types.CancelTaskRequest:
    return types.CancelTaskRequest(
        tenant=call.agent.interface_tenant, id=call.remote_task_id
    )


def tasks_of_context(call: RemoteCall) -> types.ListTasksRequest:
    return types.ListTasksRequest(
        tenant=call.agent.interface_tenant, context_id=call.context_id
    )
