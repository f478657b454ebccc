from __future__ import annotations

import asyncio

import pytest
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolReturnPart,
    UserPromptPart,
)

from agent_runs import llm_offline
from agent_runs.llm_offline import OfflineModel
from agent_runs.offline.answers import ANSWERS

LONG = "A sentence of the long text stands here. " * 2_000


def asked(text: str) -> list[ModelMessage]:
    return [ModelRequest(parts=[UserPromptPart(text)], instructions="Be kind.")]


async def streamed(name: str, text: str) -> tuple[list[str], ModelResponse]:
    pieces = []
    async with model_request_stream(OfflineModel(name), asked(text)) as stream:
        async for event in stream:
            if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                pieces.append(event.part.content)
            elif isinstance(event, PartDeltaEvent) and isinstance(
                event.delta, TextPartDelta
            ):
                pieces.append(event.delta.content_delta)
        return pieces, stream.get()


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("text", ["", "Short.", LONG], ids=["empty", "short", "long"])
def test_whole_and_streamed_answers_are_the_same(name: str, text: str) -> None:
    """P1: deterministic."""
    whole = asyncio.run(model_request(OfflineModel(name), asked(text)))
    pieces, response = asyncio.run(streamed(name, text))

    assert whole.text == ANSWERS[name](text)
    assert response.text == whole.text
    assert "".join(pieces) == whole.text
    assert response.usage == whole.usage
    assert response.finish_reason == whole.finish_reason == "stop"


def test_a_long_answer_comes_in_few_pieces() -> None:
    pieces, _ = asyncio.run(streamed("echo", LONG))

    assert 10 < len(pieces) <= 51


def test_counts_about_four_characters_as_a_token() -> None:
    response = asyncio.run(model_request(OfflineModel("echo"), asked("abcde")))

    # «Be kind.» has eight characters.
    assert (response.usage.input_tokens, response.usage.output_tokens) == (4, 2)


def test_the_last_prompt_is_the_question() -> None:
    messages: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart("first")]),
        ModelResponse(parts=[TextPart("answer")]),
        ModelRequest(parts=[UserPromptPart(["second", "third"])]),
        ModelResponse(parts=[TextPart("answer")]),
        ModelRequest(parts=[ToolReturnPart("tool", "result", "id")]),
    ]

    assert llm_offline.last_question(messages) == "second\nthird"


def test_without_a_prompt_the_question_is_empty() -> None:
    assert llm_offline.last_question([]) == ""


def test_a_long_question_does_not_hold_the_event_loop() -> None:
    """R14: a cancellation must be heard while the answer is computed."""

    async def cancel_soon() -> int:
        turns = 0
        asking = asyncio.create_task(
            model_request(OfflineModel("text-check"), asked("(. " * 100_000))
        )
        while not asking.done():
            await asyncio.sleep(0)
            turns += 1
        return turns

    assert asyncio.run(cancel_soon()) > 10
