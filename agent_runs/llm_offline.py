"""A model that needs no network: its answer is computed from the last thing asked.

A full pydantic-ai model, so that demonstrations and tests take the same road as a real
provider: messages in, parts and usage out, whole or streamed. It never calls a tool.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.usage import RequestUsage

from agent_runs.offline.answers import ANSWERS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from pydantic_ai.messages import ModelResponseStreamEvent
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.tools import RunContext

SYSTEM = "offline"
# A long answer streams in larger pieces, so that joining them stays linear.
_MOST_PIECES = 50
_SHORTEST_PIECE = 24
_CHARACTERS_PER_TOKEN = 4
_LONGEST_QUICK_QUESTION = 20_000


class OfflineModel(Model[None]):
    """`name` is one of `ANSWERS`."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

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
        text = await self._answer(messages)
        return ModelResponse(
            parts=[TextPart(text)],
            usage=_usage(messages, text),
            model_name=self._name,
            provider_name=SYSTEM,
            finish_reason="stop",
        )

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        text = await self._answer(messages)
        stream = OfflineStream(
            model_request_parameters=model_request_parameters,
            name=self._name,
            text=text,
        )
        stream._usage = _usage(messages, text)  # noqa: SLF001 -- how every stream sets it
        yield stream

    async def _answer(self, messages: list[ModelMessage]) -> str:
        """A long text takes seconds, in which the loop must hear of a cancellation."""
        question, answer = last_question(messages), ANSWERS[self._name]
        if len(question) <= _LONGEST_QUICK_QUESTION:
            return answer(question)
        return await asyncio.to_thread(answer, question)


@dataclass
class OfflineStream(StreamedResponse):
    name: str
    text: str
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        for piece in pieces(self.text):
            for event in self._parts_manager.handle_text_delta(
                vendor_part_id="text", content=piece
            ):
                yield event
            # A cancellation gets its turn between two pieces.
            await asyncio.sleep(0)
        self.finish_reason = "stop"

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


def pieces(text: str) -> list[str]:
    size = max(_SHORTEST_PIECE, -(-len(text) // _MOST_PIECES))
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]


def last_question(messages: list[ModelMessage]) -> str:
    """The text of the last request that holds a prompt; instructions are no question."""
    for message in reversed(messages):
        if isinstance(message, ModelRequest):
            prompts = [p for p in message.parts if isinstance(p, UserPromptPart)]
            if prompts:
                return "\n".join(_prompt_text(prompt) for prompt in prompts)
    return ""


def _prompt_text(prompt: UserPromptPart) -> str:
    if isinstance(prompt.content, str):
        return prompt.content
    return "\n".join(item for item in prompt.content if isinstance(item, str))


def _usage(messages: list[ModelMessage], answer: str) -> RequestUsage:
    asked = sum(_length(m) for m in messages if isinstance(m, ModelRequest))
    return RequestUsage(input_tokens=_tokens(asked), output_tokens=_tokens(len(answer)))


def _length(request: ModelRequest) -> int:
    prompts = (p for p in request.parts if isinstance(p, UserPromptPart))
    return len(request.instructions or "") + sum(len(_prompt_text(p)) for p in prompts)


def _tokens(characters: int) -> int:
    return -(-characters // _CHARACTERS_PER_TOKEN)
