from __future__ import annotations

from a2a_client.models.agent import AgentGroup, CredentialKind, Delivery, RemoteAgent
from a2a_client.models.call import (
    ACTIVE_STATES,
    CallState,
    Cancellation,
    RemoteCall,
)

__all__ = [
    "ACTIVE_STATES",
    "AgentGroup",
    "CallState",
    "Cancellation",
    "CredentialKind",
    "Delivery",
    "RemoteAgent",
    "RemoteCall",
]
