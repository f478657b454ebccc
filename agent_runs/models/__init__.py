from __future__ import annotations

from agent_runs.models.llm import (
    AllowedGroup,
    AnswerLevel,
    LLMConfiguration,
    Provider,
)
from agent_runs.models.run import (
    AgentRun,
    AgentRunEvent,
    EndReason,
    RunState,
    WaitingRun,
)
from agent_runs.models.tool import ToolSetting
from agent_runs.models.worker import PeriodicJobState, WorkerHeartbeat
from agent_runs.models.workspace import Draft, DraftKind, DraftState, Workspace

__all__ = [
    "AgentRun",
    "AgentRunEvent",
    "AllowedGroup",
    "AnswerLevel",
    "Draft",
    "DraftKind",
    "DraftState",
    "EndReason",
    "LLMConfiguration",
    "PeriodicJobState",
    "Provider",
    "RunState",
    "ToolSetting",
    "WaitingRun",
    "WorkerHeartbeat",
    "Workspace",
]
