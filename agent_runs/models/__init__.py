from __future__ import annotations

from agent_runs.models.llm import (
    AllowedGroup,
    AnswerLevel,
    LLMConfiguration,
    Provider,
)
from agent_runs.models.run import AgentRun, AgentRunEvent, EndReason, RunState
from agent_runs.models.worker import PeriodicJobState, WorkerHeartbeat
from agent_runs.models.workspace import Workspace

__all__ = [
    "AgentRun",
    "AgentRunEvent",
    "AllowedGroup",
    "AnswerLevel",
    "EndReason",
    "LLMConfiguration",
    "PeriodicJobState",
    "Provider",
    "RunState",
    "WorkerHeartbeat",
    "Workspace",
]
