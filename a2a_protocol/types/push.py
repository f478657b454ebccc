"""Push notification configs: specification 4.3, flat as in the proto."""

from __future__ import annotations

from typing import Annotated

from a2a_protocol.types.wire import Rule, WireModel


class AuthenticationInfo(WireModel):
    scheme: Annotated[str, Rule(filled=True)]
    credentials: str = ""


class TaskPushNotificationConfig(WireModel):
    tenant: str = ""
    id: str = ""
    task_id: str = ""
    url: Annotated[str, Rule(filled=True)]
    token: str = ""
    authentication: AuthenticationInfo | None = None
