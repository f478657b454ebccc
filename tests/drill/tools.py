"""A tool whose effect cannot be taken back, and is counted at the gate."""

from __future__ import annotations

from pydantic import BaseModel

from agent_runs.effects import Effect
from agent_runs.tools.contract import Tool, ToolCall
from tests.drill.visiting import visit

SENT = "sent"


class Letter(BaseModel):
    text: str


def _send(call: ToolCall) -> str:
    visit(f"{call.run.id}/{SENT}")
    return "It is sent."


SEND = Tool(
    name="drill_send",
    description="Sends a letter.",
    parameters=Letter,
    effect=Effect.NON_IDEMPOTENT_WRITE,
    execute=_send,
    supports_workspaces=True,
)


def provide() -> tuple[Tool]:
    return (SEND,)
