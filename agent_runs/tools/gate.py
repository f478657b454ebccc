"""Which tools a run is offered, and one call of one of them (T3, R6).

Asked anew at every segment and at every call: what was offered earlier may be gone.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

from pydantic import BaseModel, ValidationError

from agent_runs.tools import registry
from agent_runs.tools.contract import Tool, ToolCall, ToolError
from agent_runs.transcript import ToolResult

if TYPE_CHECKING:
    from pydantic_ai.messages import ToolCallPart

    from agent_runs.models import AgentRun

logger = logging.getLogger(__name__)

RESULT_BYTES = 50_000
_CUT = "\n[cut: longer than 50,000 bytes]"


def offered_tools(run: AgentRun) -> dict[str, Tool]:
    """Registered, listed for the run, and permitted to its owner. Uses the ORM."""
    listed = set(run.tools)
    tools = {name: t for name, t in registry.all_tools().items() if name in listed}
    owner = run.owner
    return {
        name: tool
        for name, tool in tools.items()
        if not tool.permission or (owner and owner.has_perm(tool.permission))
    }


def cut(text: str) -> str:
    """At most `RESULT_BYTES` of UTF-8, never half a character."""
    data = text.encode("utf-8", "replace")
    if len(data) <= RESULT_BYTES:
        return text
    return data[:RESULT_BYTES].decode("utf-8", "ignore") + _CUT


async def execute(run: AgentRun, call: ToolCallPart, tool: Tool | None) -> ToolResult:
    """Run one call; whatever goes wrong becomes a result that the model sees."""
    if tool is None:
        return failed(call, f"There is no tool «{call.tool_name}» here.")
    try:
        arguments = tool.parameters.model_validate(_arguments(call))
    except (ValidationError, ValueError) as error:
        return failed(call, _argument_problem(error))
    return await _call(run, call, tool, arguments)


async def _call(
    run: AgentRun, call: ToolCallPart, tool: Tool, arguments: BaseModel
) -> ToolResult:
    request = ToolCall(run=run, call_id=call.tool_call_id, arguments=arguments)
    try:
        content = await tool.execute(request)
    except ToolError as error:
        return failed(call, str(error))
    except Exception:
        logger.exception("tool failed", extra={"run": str(run.id), "tool": tool.name})
        return failed(call, "The tool failed.")
    return ToolResult(
        call_id=call.tool_call_id, tool_name=tool.name, content=cut(content)
    )


def failed(call: ToolCallPart, sentence: str) -> ToolResult:
    return ToolResult(
        call_id=call.tool_call_id,
        tool_name=call.tool_name,
        content=cut(sentence),
        outcome="failed",
    )


def denied(call: ToolCallPart, sentence: str) -> ToolResult:
    return ToolResult(
        call_id=call.tool_call_id,
        tool_name=call.tool_name,
        content=cut(sentence),
        outcome="denied",
    )


def _arguments(call: ToolCallPart) -> object:
    return json.loads(call.args) if isinstance(call.args, str) and call.args else {}


def _argument_problem(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return "The arguments are not valid JSON."
    problems = [
        f"{'.'.join(str(step) for step in detail['loc']) or 'arguments'}: {detail['msg']}"
        for detail in error.errors(include_url=False, include_input=False)
    ]
    return "The arguments do not fit: " + "; ".join(problems)


def answered(call: ToolCallPart, answer: str) -> ToolResult:
    return ToolResult(
        call_id=call.tool_call_id, tool_name=call.tool_name, content=cut(answer)
    )
