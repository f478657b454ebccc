"""The one table of methods: specification 5.3 and the HTTP rules of the proto.

JSON-RPC names are the keys, case-sensitive. A route is the proto's, with ``{id}`` for
its ``{id=*}``; each also exists below a tenant. SubscribeToTask is GET in the proto and
POST in the prose of the specification, so both are served.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from a2a_protocol import types

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_protocol.types import WireModel

Capability: TypeAlias = Literal[
    "streaming", "push_notifications", "extended_agent_card"
]
Verb: TypeAlias = Literal["GET", "POST", "DELETE"]


@dataclass(frozen=True, slots=True)
class HttpRoute:
    """``body``: the request is the body; otherwise it stands in path and query."""

    verb: Verb
    path: str
    body: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """``capability`` is the flag of the card that the method needs.

    ``response_type`` is None where the proto answers with Empty.
    """

    name: str
    request_type: type[WireModel]
    response_type: type[WireModel] | None
    streaming: bool = False
    capability: Capability | None = None
    http: tuple[HttpRoute, ...]


def _routes(*routes: HttpRoute) -> tuple[HttpRoute, ...]:
    below_tenant = (
        HttpRoute(route.verb, f"/{{tenant}}{route.path}", route.body)
        for route in routes
    )
    return (*routes, *below_tenant)


_PUSH_CONFIGS: Final = "/tasks/{task_id}/pushNotificationConfigs"

_ALL: Final = (
    Method(
        name="SendMessage",
        request_type=types.SendMessageRequest,
        response_type=types.SendMessageResponse,
        http=_routes(HttpRoute("POST", "/message:send", body=True)),
    ),
    Method(
        name="SendStreamingMessage",
        request_type=types.SendMessageRequest,
        response_type=types.StreamResponse,
        streaming=True,
        capability="streaming",
        http=_routes(HttpRoute("POST", "/message:stream", body=True)),
    ),
    Method(
        name="GetTask",
        request_type=types.GetTaskRequest,
        response_type=types.Task,
        http=_routes(HttpRoute("GET", "/tasks/{id}")),
    ),
    Method(
        name="ListTasks",
        request_type=types.ListTasksRequest,
        response_type=types.ListTasksResponse,
        http=_routes(HttpRoute("GET", "/tasks")),
    ),
    Method(
        name="CancelTask",
        request_type=types.CancelTaskRequest,
        response_type=types.Task,
        http=_routes(HttpRoute("POST", "/tasks/{id}:cancel", body=True)),
    ),
    Method(
        name="SubscribeToTask",
        request_type=types.SubscribeToTaskRequest,
        response_type=types.StreamResponse,
        streaming=True,
        capability="streaming",
        http=_routes(
            HttpRoute("GET", "/tasks/{id}:subscribe"),
            HttpRoute("POST", "/tasks/{id}:subscribe"),
        ),
    ),
    Method(
        name="CreateTaskPushNotificationConfig",
        request_type=types.TaskPushNotificationConfig,
        response_type=types.TaskPushNotificationConfig,
        capability="push_notifications",
        http=_routes(HttpRoute("POST", _PUSH_CONFIGS, body=True)),
    ),
    Method(
        name="GetTaskPushNotificationConfig",
        request_type=types.GetTaskPushNotificationConfigRequest,
        response_type=types.TaskPushNotificationConfig,
        capability="push_notifications",
        http=_routes(HttpRoute("GET", f"{_PUSH_CONFIGS}/{{id}}")),
    ),
    Method(
        name="ListTaskPushNotificationConfigs",
        request_type=types.ListTaskPushNotificationConfigsRequest,
        response_type=types.ListTaskPushNotificationConfigsResponse,
        capability="push_notifications",
        http=_routes(HttpRoute("GET", _PUSH_CONFIGS)),
    ),
    Method(
        name="GetExtendedAgentCard",
        request_type=types.GetExtendedAgentCardRequest,
        response_type=types.AgentCard,
        capability="extended_agent_card",
        http=_routes(HttpRoute("GET", "/extendedAgentCard")),
    ),
    Method(
        name="DeleteTaskPushNotificationConfig",
        request_type=types.DeleteTaskPushNotificationConfigRequest,
        response_type=None,
        capability="push_notifications",
        http=_routes(HttpRoute("DELETE", f"{_PUSH_CONFIGS}/{{id}}")),
    ),
)

METHODS: Final[Mapping[str, Method]] = MappingProxyType(
    {method.name: method for method in _ALL}
)
