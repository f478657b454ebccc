"""The model/tool loop: model call, checkpoint, scan, tools, checkpoint, until an answer.

Every model answer and every tool result is stored before anything that follows from it
happens (R8). Before any tool of a turn runs, the whole turn is scanned for calls that a
person or the client has to decide; then nothing of the turn runs and the run waits (R7).
At the round limit the open calls are answered «not run» and one last call with tool use
switched off gives the answer (R5).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from asgiref.sync import sync_to_async
from pydantic_ai.direct import model_request_stream
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from agent_runs import llm, redaction
from agent_runs.events import NewEvent
from agent_runs.handlers import ModelAnswer
from agent_runs.interrupting import interruptible
from agent_runs.models import EndReason, LLMConfiguration
from agent_runs.models.run import EventKind
from agent_runs.open_turn import OpenTurn, since
from agent_runs.outcomes import Failed, Suspended
from agent_runs.tools import gate
from agent_runs.transcript import Decisions, Transcript, text_of, tool_calls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_ai.messages import ModelResponse

    from agent_runs.segment import Segment
    from agent_runs.tools.contract import Tool

NOT_RUN = "not run: round limit reached"


class AgentLoop:
    def __init__(
        self,
        segment: Segment,
        configuration: LLMConfiguration,
        model: Model,
        settings: ModelSettings,
        transcript: Transcript,
        tools: Mapping[str, Tool],
    ) -> None:
        self.segment = segment
        self.run_row = segment.run
        self.configuration = configuration
        self.model = model
        self.settings = settings
        self.transcript = transcript
        self.tools = tools
        self.turn = OpenTurn(segment, transcript, tools)

    async def run(self) -> ModelAnswer | Suspended | Failed:
        await self._take_decisions()
        while True:
            response = self.transcript.last_response
            if response is None:
                await self._ask_model(self.settings)
            elif self.transcript.is_last:
                return _answer_at_the_limit(response)
            elif not self.transcript.turn_calls:
                return _answer(response)
            elif lost := self.turn.lost_write():
                return lost
            elif self.run_row.rounds >= self.configuration.max_rounds:
                await self._ask_without_tools()
            elif ended := await self.turn.scan() or await self.turn.run():
                return ended

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
        given = await interruptible(self.segment, self._request(settings))
        response = self.transcript.add_response(given)
        usage = response.usage
        self.run_row.rounds += 1
        self.run_row.input_tokens += usage.input_tokens
        self.run_row.output_tokens += usage.output_tokens
        await self._store(self._model_event(response, started))
        return response

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

    # --- At the round limit -----------------------------------------------------------

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
            duration_ms=since(started),
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
