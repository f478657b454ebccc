"""The model/tool loop: model call, checkpoint, scan, tools, checkpoint, until an answer.

Every model answer and every tool result is stored before anything that follows from it
happens (R8). Before any tool of a turn runs, the whole turn is scanned for calls that a
person or the client has to decide; then nothing of the turn runs and the run waits (R7).
At the round limit the open calls are answered «not run» and one last call with tool use
switched off gives the answer (R5).
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, TypeVar

from asgiref.sync import sync_to_async
from pydantic_ai.direct import model_request_stream
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from agent_runs import llm, redaction
from agent_runs.events import NewEvent
from agent_runs.handlers import ModelAnswer
from agent_runs.models import EndReason, LLMConfiguration, RunState
from agent_runs.models.run import EventKind
from agent_runs.outcomes import Failed, Suspended
from agent_runs.tools import gate
from agent_runs.transcript import (
    Decisions,
    ToolResult,
    Transcript,
    text_of,
    tool_calls,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from pydantic_ai.messages import ModelResponse, ToolCallPart

    from agent_runs.segment import Segment
    from agent_runs.tools.contract import Tool

T = TypeVar("T")

NOT_RUN = "not run: round limit reached"
DENIED = "Denied by the person who was asked."


class AgentLoop:
    def __init__(
        self,
        segment: Segment,
        configuration: LLMConfiguration,
        model: Model,
        settings: ModelSettings,
        transcript: Transcript,
    ) -> None:
        self.segment = segment
        self.run_row = segment.run
        self.configuration = configuration
        self.model = model
        self.settings = settings
        self.transcript = transcript
        self.tools: dict[str, Tool] = {}

    async def run(self) -> ModelAnswer | Suspended | Failed:
        self.tools = await sync_to_async(gate.offered_tools)(self.run_row)
        await self._take_decisions()
        while True:
            response = self.transcript.last_response
            if response is None:
                await self._ask_model(self.settings)
            elif self.transcript.is_last:
                return _answer_at_the_limit(response)
            elif not self.transcript.turn_calls:
                return _answer(response)
            elif self.run_row.rounds >= self.configuration.max_rounds:
                await self._ask_without_tools()
            elif ended := self._interrupted_write() or self._scan():
                return ended
            else:
                await self._run_turn()

    async def _take_decisions(self) -> None:
        """What the run was resumed with becomes part of its checkpoint."""
        if self.run_row.pending:
            decided = Decisions.load(self.run_row.pending)
            self.transcript.decisions = self.transcript.decisions.with_more(decided)
            await sync_to_async(self.segment.store_checkpoint)(self.transcript.dump())

    # --- The model --------------------------------------------------------------------

    async def _ask_model(self, settings: ModelSettings) -> ModelResponse:
        self.segment.check()
        started = time.monotonic()
        response = await self._interruptible(self._request(settings))
        self.transcript.add_response(response)
        usage = response.usage
        self.run_row.rounds += 1
        self.run_row.input_tokens += usage.input_tokens
        self.run_row.output_tokens += usage.output_tokens
        await self._store(self._model_event(response, started))
        return response

    async def _interruptible(self, work: Awaitable[T]) -> T:
        """Wait for something outside; the supervisor may cut the wait short (R14)."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is None:
            raise RuntimeError("the loop runs outside a task")
        with self.segment.interruptible(
            lambda: _ignore(loop.call_soon_threadsafe(task.cancel))
        ):
            return await work

    async def _request(self, settings: ModelSettings) -> ModelResponse:
        async with model_request_stream(
            self.model,
            self.transcript.with_instructions(self.configuration.system_prompt),
            model_settings=settings,
            model_request_parameters=ModelRequestParameters(
                function_tools=[_definition(tool) for tool in self.tools.values()]
            ),
        ) as stream:
            async for _ in stream:
                pass
            response = stream.get()
        llm.refuse_cut_answer(self.configuration.provider.kind, response)
        return response

    # --- The turn ---------------------------------------------------------------------

    def _interrupted_write(self) -> Failed | None:
        """A write that had begun when its worker was lost; nobody knows how far it got."""
        begun = self.transcript.begun
        if any(call.tool_call_id == begun for call in self.transcript.open_calls):
            return Failed(reason=EndReason.LEASE_LOST_AFTER_WRITE)
        return None

    def _scan(self) -> Suspended | None:
        """Approvals first, then questions; what was decided already is let through."""
        open_calls = self.transcript.open_calls
        decisions = self.transcript.decisions
        if decisions.is_approved is None:
            waiting = [c for c in open_calls if self._needs(c, "needs_approval")]
            if waiting:
                return self._suspend(RunState.WAITING_FOR_APPROVAL, waiting)
        questions = [
            call
            for call in open_calls
            if self._needs(call, "asks_client")
            and call.tool_call_id not in decisions.answers
        ]
        return (
            self._suspend(RunState.WAITING_FOR_INPUT, questions) if questions else None
        )

    def _needs(self, call: ToolCallPart, what: str) -> bool:
        tool = self.tools.get(call.tool_name)
        return bool(tool and getattr(tool, what))

    def _suspend(self, target: RunState, calls: list[ToolCallPart]) -> Suspended:
        kind = (
            EventKind.QUESTION
            if target is RunState.WAITING_FOR_INPUT
            else EventKind.APPROVAL
        )
        facts = {"tools": [call.tool_name for call in calls], "waiting": True}
        event = NewEvent(kind=kind, round=self.run_row.rounds, facts=facts)
        return Suspended(target=target, event=event)

    async def _run_turn(self) -> None:
        """Run what has no result yet, in order, storing each result before the next."""
        for call in self.transcript.open_calls:
            self.segment.check()
            started = time.monotonic()
            result = await self._result_of(call)
            self.transcript.journal.append(result)
            await self._store(
                NewEvent(
                    kind=EventKind.TOOL,
                    round=self.run_row.rounds,
                    duration_ms=_since(started),
                    facts={
                        "tool": call.tool_name,
                        "outcome": result.outcome,
                        "result_length": len(result.content),
                    },
                    content=redaction.event_content(self.segment.level, result.content),
                )
            )
        self.transcript.close_turn()

    async def _result_of(self, call: ToolCallPart) -> ToolResult:
        tool = self.tools.get(call.tool_name)
        decisions = self.transcript.decisions
        if decisions.is_approved is False:
            return gate.denied(call, DENIED)
        if call.tool_call_id in decisions.answers:
            return gate.answered(call, decisions.answers[call.tool_call_id])
        if tool and tool.effect.is_write:
            await self._begin_write(call, tool)
            return await gate.execute(self.run_row, call, tool)
        return await self._interruptible(gate.execute(self.run_row, call, tool))

    async def _begin_write(self, call: ToolCallPart, tool: Tool) -> None:
        """From now on the run never starts over, and this call begins once at most."""
        if not tool.effect.may_repeat:
            self.transcript.begun = call.tool_call_id
        self.run_row.has_effects = True
        await sync_to_async(self.segment.store_checkpoint)(
            self.transcript.dump(), has_effects=True
        )

    async def _ask_without_tools(self) -> None:
        """The last call: tools stay declared, since some providers insist on them."""
        for call in self.transcript.open_calls:
            self.transcript.journal.append(gate.failed(call, NOT_RUN))
        self.transcript.close_turn()
        self.transcript.is_last = True
        await self._ask_model(ModelSettings(**self.settings, tool_choice="none"))

    # --- Storing ----------------------------------------------------------------------

    async def _store(self, event: NewEvent) -> None:
        await sync_to_async(self.segment.store_checkpoint)(
            self.transcript.dump(),
            event=event,
            rounds=self.run_row.rounds,
            input_tokens=self.run_row.input_tokens,
            output_tokens=self.run_row.output_tokens,
        )

    def _model_event(self, response: ModelResponse, started: float) -> NewEvent:
        text = text_of(response)
        facts = {
            "model": response.model_name or self.configuration.model_name,
            "input_tokens": response.usage.input_tokens,
            "output_tokens": response.usage.output_tokens,
            "answer_length": len(text),
            "tools": [call.tool_name for call in tool_calls(response)],
            "finish_reason": response.finish_reason,
        }
        return NewEvent(
            kind=EventKind.MODEL,
            round=self.run_row.rounds,
            duration_ms=_since(started),
            facts=facts,
            content=redaction.event_content(self.segment.level, text),
        )


def _answer(response: ModelResponse) -> ModelAnswer | Failed:
    text = text_of(response)
    if not text.strip():
        summary = f"empty answer, finish reason {response.finish_reason}"
        return Failed(reason=EndReason.PROVIDER_FAILED, summary=summary)
    return ModelAnswer(text=text, is_truncated=response.finish_reason == "length")


def _answer_at_the_limit(response: ModelResponse) -> ModelAnswer | Failed:
    text = text_of(response)
    if tool_calls(response) or not text.strip():
        return Failed(reason=EndReason.MAX_ROUNDS)
    return ModelAnswer(text=text, is_truncated=True)


def _definition(tool: Tool) -> ToolDefinition:
    return ToolDefinition(
        name=tool.name,
        description=tool.description,
        parameters_json_schema=tool.schema(),
    )


def _ignore(_: object) -> None:
    pass


def _since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
