from __future__ import annotations

import json

import pytest
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart

from agent_runs.contents import ContentsError, Turn
from agent_runs.questions import Answer
from agent_runs.transcript import Decisions, ToolResult, Transcript, text_of, tool_calls

CALLS = ModelResponse(
    parts=[
        TextPart("let me look"),
        ToolCallPart("look", '{"at": 1}', "c1"),
        ToolCallPart("look", '{"at": 2}', "c2"),
    ]
)


YES = {"c2": Answer(value="yes", message_id="m2")}


def _result(call_id: str) -> ToolResult:
    return ToolResult(call_id=call_id, tool_name="look", content="seen")


def _with_calls() -> Transcript:
    transcript = Transcript.begin("hi")
    transcript.add_response(CALLS)
    return transcript


def test_what_is_stored_is_read_back_the_same() -> None:
    transcript = _with_calls()
    transcript.journal.append(_result("c1"))
    transcript.decisions = Decisions(is_approved=True, answers=YES)

    assert Transcript.load(transcript.dump()) == transcript


def test_a_checkpoint_of_another_format_is_not_guessed_at() -> None:
    with pytest.raises(ContentsError):
        Transcript.load('{"format": 99}')


def test_open_calls_are_those_without_a_result() -> None:
    """R8: a resumed turn takes results from the journal and runs what is missing."""
    transcript = _with_calls()
    transcript.journal.append(_result("c1"))

    assert [call.tool_call_id for call in transcript.open_calls] == ["c2"]


def test_closing_a_turn_hands_its_results_over_in_order() -> None:
    transcript = _with_calls()
    transcript.journal = [_result("c1"), _result("c2")]
    transcript.decisions = Decisions(is_approved=True)

    transcript.close_turn()

    request = transcript.messages[-1]
    assert isinstance(request, ModelRequest)
    assert [part.tool_call_id for part in request.parts] == ["c1", "c2"]  # type: ignore[union-attr]
    assert (transcript.journal, transcript.decisions) == ([], Decisions())
    assert transcript.last_response is None


def test_instructions_are_sent_and_never_stored() -> None:
    transcript = Transcript.begin("hi")

    sent = transcript.with_instructions("be brief")

    assert sent[-1].instructions == "be brief"  # type: ignore[union-attr]
    assert "be brief" not in transcript.dump()


@pytest.mark.parametrize("second_id", ["same", ""], ids=["twice", "empty"])
def test_every_call_gets_an_id_of_its_own(second_id: str) -> None:
    transcript = Transcript.begin("hi")
    transcript.add_response(
        ModelResponse(
            parts=[ToolCallPart("a", "{}", "same"), ToolCallPart("b", "{}", second_id)]
        )
    )

    first, second = transcript.turn_calls
    assert first.tool_call_id == "same"
    assert second.tool_call_id not in {"", "same"}


def test_text_that_cannot_be_stored_is_replaced() -> None:
    """S15, B013."""
    transcript = Transcript.begin("hi")
    transcript.add_response(
        ModelResponse(
            parts=[TextPart("a\x00b\ud800"), ToolCallPart("n\x00", '{"x":"\ud800"}')]
        )
    )

    response = transcript.last_response
    assert response
    assert text_of(response) == "a\ufffdb\ufffd"
    assert tool_calls(response)[0].tool_name == "n\ufffd"
    assert Transcript.load(transcript.dump()) == transcript


def test_the_name_of_a_called_tool_is_no_place_for_a_text() -> None:
    """R16: events keep it, whatever else they may not keep."""
    transcript = Transcript.begin("hi")

    transcript.add_response(ModelResponse(parts=[ToolCallPart("what you said " * 99)]))

    assert len(transcript.turn_calls[0].tool_name) == 64


def test_later_decisions_add_to_earlier_ones() -> None:
    approved = Decisions(is_approved=True).with_more(Decisions(answers=YES))

    assert approved == Decisions(is_approved=True, answers=YES)
    assert Decisions.load(approved.dump()) == approved


def test_a_later_verdict_takes_the_place_of_an_earlier_one() -> None:
    """T13: with what it was given to."""
    first = Decisions(is_approved=True, approval_id="shown first")
    second = Decisions(is_approved=False, approval_id="shown then")

    assert first.with_more(second) == second


def test_a_checkpoint_from_before_there_were_answers_is_read() -> None:
    stored = json.loads(_with_calls().dump())
    stored["decisions"] = {"is_approved": None, "answers": {}}

    assert Transcript.load(json.dumps(stored)).decisions == Decisions()


def test_what_was_said_before_comes_before_the_prompt() -> None:
    """S49."""
    earlier = (Turn(text="Hello."), Turn(text="Good day.", is_from_agent=True))

    transcript = Transcript.begin("And now?", earlier)

    said = [part.content for message in transcript.messages for part in message.parts]
    assert said == ["Hello.", "Good day.", "And now?"]
    assert isinstance(transcript.messages[1], ModelResponse)
    assert transcript.last_response is None


@pytest.mark.parametrize("missing", ["messages", "journal", "decisions", "begun"])
def test_a_checkpoint_of_another_shape_is_left_to_whoever_reads_it(
    missing: str,
) -> None:
    """A newer worker may take it on one of the next tries."""
    stored = json.loads(_with_calls().dump())
    del stored[missing]

    with pytest.raises(ContentsError):
        Transcript.load(json.dumps(stored))
