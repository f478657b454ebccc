from __future__ import annotations

from a2a_server.models.client import Client, ClientProfile
from a2a_server.models.installation import AuthFailure, ServedCard, WaitingSlot
from a2a_server.models.profile import Profile
from a2a_server.models.task import (
    Task,
    TaskCounter,
    TaskEvent,
    TaskMessage,
    TaskState,
)
from a2a_server.models.trial import Trial

__all__ = [
    "AuthFailure",
    "Client",
    "ClientProfile",
    "Profile",
    "ServedCard",
    "Task",
    "TaskCounter",
    "TaskEvent",
    "TaskMessage",
    "TaskState",
    "Trial",
    "WaitingSlot",
]
