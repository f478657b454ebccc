from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

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
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from agent_runs import llm_offline
from agent_runs.llm_offline import OfflineModel
from agent_runs.offline import scripts
from agent_runs.offline.answers import ANSWERS
from agent_runs.offline.scripts import Call, Conversation, Done

if TYPE_CHECKING:
    from collections.abc import Iterator

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

    asked = llm_offline.conversation(messages, None, ModelRequestParameters())

    assert asked.prompt == "second\nthird"


def test_without_a_prompt_the_question_is_empty() -> None:
    asked = llm_offline.conversation([], None, ModelRequestParameters())

    assert asked == Conversation(prompt="")


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


# --- Tools ----------------------------------------------------------------------------

LOOK = ToolDefinition(
    name="look", description="Looks.", parameters_json_schema={"type": "object"}
)


@pytest.fixture
def looking() -> Iterator[list[Conversation]]:
    """A model «looking» that looks twice at once, then answers; what it was given."""
    seen: list[Conversation] = []

    def look(conversation: Conversation) -> str | tuple[Call, ...]:
        seen.append(conversation)
        if conversation.done or not conversation.may_call:
            return "I have looked."
        return Call(tool="look", arguments={"at": "ä"}), Call(tool="look")

    scripts.register("looking", look)
    yield seen
    scripts.unregister("looking")


def _respond(
    messages: list[ModelMessage], settings: ModelSettings | None = None
) -> ModelResponse:
    return asyncio.run(
        model_request(
            OfflineModel("looking"),
            messages,
            model_settings=settings,
            model_request_parameters=ModelRequestParameters(function_tools=[LOOK]),
        )
    )


def _looked(*outcomes: str) -> list[ModelMessage]:
    """The conversation after each of the two calls ended so."""
    response = _respond(asked("Look!"))
    results = [
        ToolReturnPart("look", "seen", call.tool_call_id, outcome=outcome)
        for call, outcome in zip(_calls(response), outcomes, strict=True)
    ]
    return [*asked("Look!"), response, ModelRequest(parts=results)]


def _calls(response: ModelResponse) -> list[ToolCallPart]:
    return [part for part in response.parts if isinstance(part, ToolCallPart)]


@pytest.mark.usefixtures("looking")
def test_whole_and_streamed_calls_are_the_same() -> None:
    """P1: deterministic."""
    whole = _respond(asked("Look!"))
    _, response = asyncio.run(streamed("looking", "Look!"))

    assert [(c.tool_name, c.args, c.tool_call_id) for c in _calls(whole)] == [
        ("look", '{"at": "ä"}', "call_1"),
        ("look", "{}", "call_2"),
    ]
    assert _calls(response) == _calls(whole)
    assert response.usage == whole.usage
    assert response.finish_reason == whole.finish_reason == "tool_call"


def test_a_script_hears_what_became_of_its_calls(looking: list[Conversation]) -> None:
    response = _respond(_looked("success", "denied"))

    assert response.text == "I have looked."
    assert looking[-1].done == (
        Done(tool="look", arguments={"at": "ä"}, outcome="success", content="seen"),
        Done(tool="look", arguments={}, outcome="denied", content="seen"),
    )
    assert list(looking[-1].tools) == ["look"]
    assert looking[-1].tools["look"].schema == {"type": "object"}


def test_results_before_the_last_prompt_are_of_another_time(
    looking: list[Conversation],
) -> None:
    response = _respond([*_looked("success", "success"), *asked("Again!")])

    assert looking[-1].done == ()
    # A number that was given is not given again, since answers are kept by it.
    assert [c.tool_call_id for c in _calls(response)] == ["call_3", "call_4"]


def test_a_script_hears_that_no_round_is_left(looking: list[Conversation]) -> None:
    """R5."""
    response = _respond(asked("Look!"), ModelSettings(tool_choice="none"))

    assert looking[-1].may_call is False
    assert response.text == "I have looked."


@pytest.mark.usefixtures("looking")
def test_calls_and_their_results_cost_tokens() -> None:
    first = _respond(asked("Look!"))
    second = _respond(_looked("success", "success"))

    # «look{"at": "ä"}look{}» has 17 characters; the results have 8 more to read.
    assert first.usage.output_tokens == 5
    assert second.usage.input_tokens > first.usage.input_tokens


def test_a_model_without_a_script_is_not_made() -> None:
    with pytest.raises(LookupError):
        OfflineModel("nobody")
