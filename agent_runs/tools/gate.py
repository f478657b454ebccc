"""One call of one tool, judged and made (T3, T6, R6, R13).

Whatever goes wrong becomes a result that the model sees; only a store that is away ends
the segment. The text of an unexpected exception goes to the log and nowhere else.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async
from django.db import transaction
from pydantic import BaseModel, ValidationError

from agent_runs import fencing
from agent_runs.cleaning import clean_text
from agent_runs.questions import QuestionError
from agent_runs.store import STORE_AWAY
from agent_runs.tools.contract import Tool, ToolCall, ToolError, Written
from agent_runs.transcript import ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic_ai.messages import ToolCallPart

    from agent_runs.models import AgentRun
    from agent_runs.questions import Answer, Question
    from agent_runs.tools.progress import Done, Progress
    from agent_runs.transcript import Outcome

logger = logging.getLogger(__name__)

RESULT_BYTES = 50_000
_CUT = "\n[cut: longer than 50,000 bytes]"
FAILED = "The tool failed."
_PREVIEW_LINES = 20
_PREVIEW_LINE = 300


# --- Reading --------------------------------------------------------------------------


def parse(call: ToolCallPart, tool: Tool | None) -> BaseModel:
    """The arguments as the tool takes them; raise `ToolError` for what it does not."""
    if tool is None:
        raise ToolError(f"There is no tool «{call.tool_name}» here.")
    return parse_text(arguments_of(call), tool)


def arguments_of(call: ToolCallPart) -> str:
    """JSON text, as far as the model wrote JSON; a stored call holds a text."""
    return call.args if isinstance(call.args, str) and call.args else "{}"


def parse_text(arguments: str, tool: Tool) -> BaseModel:
    """The same for arguments that are at hand as JSON text."""
    try:
        return tool.parameters.model_validate(json.loads(arguments))
    except ValidationError as error:
        raise ToolError(_argument_problem(error)) from None
    except (ValueError, RecursionError):
        raise ToolError("The arguments are not valid JSON.") from None


def question_of(call: ToolCallPart, tool: Tool) -> Question:
    """What the call asks; raise `ToolError` when it cannot be asked (T7)."""
    arguments = parse(call, tool)
    if tool.question is None:
        raise TypeError(f"{tool.name} asks nothing")
    try:
        return tool.question(arguments)
    except QuestionError as error:
        raise ToolError(f"This cannot be asked: {error}.") from None


def preview(run: AgentRun, call: ToolCallPart, tool: Tool) -> str:
    """What the call would do, for whoever approves it (T11). Uses the ORM."""
    if tool.preview is None:
        return ""
    request = _request(run, call, parse(call, tool))
    try:
        text = tool.preview(request)
    except ToolError as error:
        text = f"It cannot be done as things are: {error}"
    except STORE_AWAY:
        raise
    except Exception:
        logger.exception("preview failed", extra=_facts(run, tool))
        text = "The tool could not say what it would do."
    lines = clean_text(text).splitlines()
    shown = [line[:_PREVIEW_LINE] for line in lines[:_PREVIEW_LINES]]
    if len(lines) > _PREVIEW_LINES:
        shown[-1] = f"… and {len(lines) - _PREVIEW_LINES + 1} more lines"
    return "\n".join(shown)


# --- Doing ----------------------------------------------------------------------------


async def execute(run: AgentRun, call: ToolCallPart, tool: Tool | None) -> ToolResult:
    """Run one call of a tool that does not write."""
    try:
        return _result(call, await _content(run, call, tool), tool)
    except ToolError as error:
        return failed(call, str(error))


async def _content(run: AgentRun, call: ToolCallPart, tool: Tool | None) -> str:
    arguments = parse(call, tool)
    if tool is None or tool.execute is None:
        raise TypeError(f"{call.tool_name} has nothing to execute")
    request, act = _request(run, call, arguments), tool.execute
    with _told(run, tool):
        refuse_outside_workspace(run, tool)
        if inspect.iscoroutinefunction(act):
            content = await act(request)
        else:
            content = await sync_to_async(act)(request)
        if not isinstance(content, str):
            raise TypeError(f"{tool.name} gives a text")
        return content


def write(
    run: AgentRun, call: ToolCallPart, tool: Tool
) -> tuple[ToolResult, Written | None]:
    """Run one call of a writer inside the caller's transaction; None: nothing written."""
    try:
        arguments = parse(call, tool)
        with _told(run, tool), transaction.atomic():
            written = _written(_request(run, call, arguments), tool)
    except ToolError as error:
        return failed(call, str(error)), None
    return _result(call, written.content, tool), written


def _written(request: ToolCall, tool: Tool) -> Written:
    if tool.write is None:
        raise TypeError(f"{tool.name} writes nothing")
    refuse_outside_workspace(request.run, tool)
    written = tool.write(request)
    if not isinstance(written, Written):
        raise TypeError(f"{tool.name} gives a Written")
    return written


def delegation_problem(run: AgentRun, call: ToolCallPart, tool: Tool) -> str | None:
    """Why a call is not handed on at all, for the model."""
    try:
        parse(call, tool)
        refuse_outside_workspace(run, tool)
    except ToolError as error:
        return str(error)
    return None


async def delegate(
    run: AgentRun, call: ToolCallPart, tool: Tool, answers: Mapping[str, Answer]
) -> Progress:
    """Hand a call on, or see how far it is; raise `ToolError` when it cannot be done."""
    request = dataclasses.replace(
        _request(run, call, parse(call, tool)), answers=answers
    )
    if tool.delegate is None:
        raise TypeError(f"{tool.name} delegates nothing")
    with _told(run, tool):
        return await tool.delegate(request)


def refuse_outside_workspace(run: AgentRun, tool: Tool) -> None:
    """Raise `ToolError` for a writer that is not at home where the run writes (T15)."""
    if not tool.effect.is_write:
        return
    if tool.supports_workspaces and run.workspace_id is None:
        raise ToolError("There is no workspace to write to.")
    if not tool.supports_workspaces and run.workspace_id is not None:
        raise ToolError(f"{tool.name} writes live, and this run writes drafts only.")


@contextmanager
def _told(run: AgentRun, tool: Tool) -> Iterator[None]:
    """What a tool raises becomes a `ToolError` that says no more than that it failed."""
    try:
        yield
    except (ToolError, *STORE_AWAY):
        raise
    except Exception:
        logger.exception("tool failed", extra=_facts(run, tool))
        raise ToolError(FAILED) from None


def _request(run: AgentRun, call: ToolCallPart, arguments: BaseModel) -> ToolCall:
    return ToolCall(run=run, call_id=call.tool_call_id, arguments=arguments)


# --- Results --------------------------------------------------------------------------


def cut(text: str, *, most: int = RESULT_BYTES) -> str:
    """At most so many bytes of UTF-8, never half a character."""
    data = text.encode("utf-8", "replace")
    if len(data) <= most:
        return text
    return data[:most].decode("utf-8", "ignore") + _CUT


def failed(call: ToolCallPart, sentence: str) -> ToolResult:
    return _made(call, sentence, "failed")


def denied(call: ToolCallPart, sentence: str) -> ToolResult:
    return _made(call, sentence, "denied")


def answered(call: ToolCallPart, answer: str) -> ToolResult:
    return _made(call, answer, "success")


def delegated(call: ToolCallPart, tool: Tool, done: Done) -> ToolResult:
    return _result(call, done.content, tool, "failed" if done.is_error else "success")


def _result(
    call: ToolCallPart, content: str, tool: Tool | None, outcome: Outcome = "success"
) -> ToolResult:
    if tool is not None and tool.is_outside:
        inner = cut(clean_text(content), most=RESULT_BYTES - fencing.ROOM)
        content = fencing.fence(inner, source=tool.name)
        return ToolResult(
            call_id=call.tool_call_id,
            tool_name=call.tool_name,
            content=content,
            outcome=outcome,
        )
    return _made(call, content, outcome)


def _made(call: ToolCallPart, content: str, outcome: Outcome) -> ToolResult:
    return ToolResult(
        call_id=call.tool_call_id,
        tool_name=call.tool_name,
        content=cut(clean_text(content)),
        outcome=outcome,
    )


def _argument_problem(error: ValidationError) -> str:
    problems = [
        f"{'.'.join(str(step) for step in detail['loc']) or 'arguments'}: {detail['msg']}"
        for detail in error.errors(include_url=False, include_input=False)
    ]
    return "The arguments do not fit: " + "; ".join(problems)


def _facts(run: AgentRun, tool: Tool) -> dict[str, Any]:
    return {"run": str(run.id), "tool": tool.name}
