"""A model that needs no network: a script computes what it says next, or which tools it
calls.

A full pydantic-ai model, so that demonstrations and tests take the same road as a real
provider: messages in, parts and usage out, whole or streamed.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.usage import RequestUsage

from agent_runs.offline import scripts
from agent_runs.offline.scripts import Call, Conversation, Done, OfferedTool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence

    from pydantic_ai.messages import FinishReason, ModelResponseStreamEvent
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.tools import RunContext

SYSTEM = "offline"
# A long answer streams in larger pieces, so that joining them stays linear.
_MOST_PIECES = 50
_SHORTEST_PIECE = 24
_CHARACTERS_PER_TOKEN = 4
_LONGEST_QUICK_QUESTION = 20_000

Parts = list[TextPart | ToolCallPart]


class OfflineModel(Model[None]):
    """`name` is that of a registered script."""

    def __init__(self, name: str) -> None:
        super().__init__()
        script = scripts.find(name)
        if script is None:
            raise LookupError(name)
        self._name = name
        self._script = script

    @property
    def model_name(self) -> str:
        return self._name

    @property
    def system(self) -> str:
        return SYSTEM

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        asked = conversation(messages, model_settings, model_request_parameters)
        parts = await self._next(asked, messages)
        return ModelResponse(
            parts=parts,
            usage=_usage(messages, parts),
            model_name=self._name,
            provider_name=SYSTEM,
            finish_reason=_finish_reason(parts),
        )

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        asked = conversation(messages, model_settings, model_request_parameters)
        parts = await self._next(asked, messages)
        stream = OfflineStream(
            model_request_parameters=model_request_parameters,
            name=self._name,
            parts=parts,
        )
        stream._usage = _usage(messages, parts)  # noqa: SLF001 -- how every stream sets it
        yield stream

    async def _next(self, asked: Conversation, messages: list[ModelMessage]) -> Parts:
        """A long text takes seconds, in which the loop must hear of a cancellation."""
        if len(asked.prompt) <= _LONGEST_QUICK_QUESTION:
            step = self._script(asked)
        else:
            step = await asyncio.to_thread(self._script, asked)
        if isinstance(step, str):
            return [TextPart(step)]
        # An id belongs to one call of the whole conversation.
        first = 1 + sum(1 for _ in _calls(messages))
        return [_call_part(call, number) for number, call in enumerate(step, first)]


@dataclass
class OfflineStream(StreamedResponse):
    name: str
    parts: Parts
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        for number, part in enumerate(self.parts):
            for event in self._events(number, part):
                yield event
                # A cancellation gets its turn between two pieces.
                await asyncio.sleep(0)
        self.finish_reason = _finish_reason(self.parts)

    def _events(
        self, number: int, part: TextPart | ToolCallPart
    ) -> Iterator[ModelResponseStreamEvent]:
        manager = self._parts_manager
        if isinstance(part, TextPart):
            for piece in pieces(part.content):
                yield from manager.handle_text_delta(
                    vendor_part_id=number, content=piece
                )
            return
        yield manager.handle_tool_call_part(
            vendor_part_id=number,
            tool_name=part.tool_name,
            args=part.args,
            tool_call_id=part.tool_call_id,
        )

    async def close_stream(self) -> None:
        """There is no connection to close."""

    @property
    def model_name(self) -> str:
        return self.name

    @property
    def provider_name(self) -> str:
        return SYSTEM

    @property
    def provider_url(self) -> None:
        return None

    @property
    def timestamp(self) -> datetime:
        return self.started_at


# --- Parts ---------------------------------------------------------------------------


def pieces(text: str) -> list[str]:
    size = max(_SHORTEST_PIECE, -(-len(text) // _MOST_PIECES))
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]


def _call_part(call: Call, number: int) -> ToolCallPart:
    arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
    return ToolCallPart(call.tool, arguments, f"call_{number}")


def _finish_reason(parts: Parts) -> FinishReason:
    has_call = any(isinstance(part, ToolCallPart) for part in parts)
    return "tool_call" if has_call else "stop"


# --- What was said --------------------------------------------------------------------


def conversation(
    messages: list[ModelMessage],
    settings: ModelSettings | None,
    parameters: ModelRequestParameters,
) -> Conversation:
    start = _last_prompt(messages)
    tools = {
        tool.name: OfferedTool(
            description=tool.description or "", schema=tool.parameters_json_schema
        )
        for tool in parameters.function_tools
    }
    return Conversation(
        prompt="\n".join(map(_prompt_text, _prompts(messages[start : start + 1]))),
        done=tuple(_done(messages[start:])),
        tools=tools,
        may_call=(settings or {}).get("tool_choice") != "none",
    )


def _last_prompt(messages: Sequence[ModelMessage]) -> int:
    """The place of the last request that holds a prompt; instructions are none."""
    for place in reversed(range(len(messages))):
        if any(_prompts(messages[place : place + 1])):
            return place
    return 0


def _prompts(messages: Sequence[ModelMessage]) -> Iterator[UserPromptPart]:
    return (
        part
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    )


def _calls(messages: Sequence[ModelMessage]) -> Iterator[ToolCallPart]:
    return (
        part
        for message in messages
        if isinstance(message, ModelResponse)
        for part in message.parts
        if isinstance(part, ToolCallPart)
    )


def _results(messages: Sequence[ModelMessage]) -> Iterator[ToolReturnPart]:
    return (
        part
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    )


def _done(messages: Sequence[ModelMessage]) -> Iterator[Done]:
    calls = {call.tool_call_id: call for call in _calls(messages)}
    for result in _results(messages):
        call = calls.get(result.tool_call_id)
        yield Done(
            tool=result.tool_name,
            arguments=call.args_as_dict() if call else {},
            outcome=result.outcome,
            content=result.model_response_str(),
        )


def _prompt_text(prompt: UserPromptPart) -> str:
    if isinstance(prompt.content, str):
        return prompt.content
    return "\n".join(item for item in prompt.content if isinstance(item, str))


# --- What it costs --------------------------------------------------------------------


def _usage(messages: list[ModelMessage], parts: Parts) -> RequestUsage:
    instructions = (m.instructions for m in messages if isinstance(m, ModelRequest))
    asked = sum(len(text or "") for text in instructions)
    asked += sum(len(_prompt_text(prompt)) for prompt in _prompts(messages))
    asked += sum(len(result.model_response_str()) for result in _results(messages))
    given = sum(map(_length, parts))
    return RequestUsage(input_tokens=_tokens(asked), output_tokens=_tokens(given))


def _length(part: TextPart | ToolCallPart) -> int:
    if isinstance(part, TextPart):
        return len(part.content)
    return len(part.tool_name) + len(part.args_as_json_str())


def _tokens(characters: int) -> int:
    return -(-characters // _CHARACTERS_PER_TOKEN)
