from __future__ import annotations

from typing import Any

import pytest

from a2a_protocol.cards import PROFILE_EXTENSION_URI
from a2a_protocol.errors import ErrorCode, ProtocolError, error_object
from a2a_protocol.json_text import dump_json, load_json
from a2a_protocol.proto_json import read
from a2a_protocol.types import Message
from a2a_server import answers
from agent_runs.questions import Field, Question, ValueType, choice
from tests.a2a_server.calling import make_message

COLOUR = choice("Which colour?", ["red", "blue"], allow_free_text=False)
ANYTHING = choice("Why?", [], allow_free_text=False)
NUMBER = Question(text="How many?", fields=(Field(type=ValueType.INTEGER),))
SIZE = Question(text="Which?", fields=(Field(name="size", type=ValueType.INTEGER),))
ORDER = Question(
    text="What?",
    fields=(
        Field(name="size", type=ValueType.INTEGER),
        Field(name="colour", options=("red", "blue")),
        Field(name="note", is_required=False),
    ),
)


def message_of(*parts: dict[str, Any], **members: Any) -> Message:
    text = dump_json(make_message(parts=list(parts), **members))
    return read(Message, load_json(text.encode()))


def refusal_of(question: Question, *parts: dict[str, Any]) -> ProtocolError:
    with pytest.raises(ProtocolError) as caught:
        answers.read(question, message_of(*parts))
    return caught.value


@pytest.mark.parametrize(
    ("question", "parts", "told"),
    [
        (COLOUR, [{"text": "red"}], "red"),
        (COLOUR, [{"text": "red", "mediaType": "text/markdown"}], "red"),
        (COLOUR, [{"text": " \n"}, {"text": "red"}], "red"),
        (ANYTHING, [{"text": "a"}, {"text": "b"}], "a\nb"),
        (COLOUR, [{"data": "red"}], {"answer": "red"}),
        (COLOUR, [{"data": {"answer": "red"}}, {"text": " "}], {"answer": "red"}),
        (NUMBER, [{"text": "5"}], "5"),
        (NUMBER, [{"data": 5}], {"answer": 5}),
        (SIZE, [{"data": 5}], {"size": 5}),
        (
            ORDER,
            [{"data": {"size": 5, "colour": "red"}}],
            {"size": 5, "colour": "red"},
        ),
        (
            ORDER,
            [{"text": '{"size": 5, "colour": "red"}'}],
            '{"size": 5, "colour": "red"}',
        ),
    ],
)
def test_takes_text_or_one_piece_of_data(
    question: Question, parts: list[dict[str, Any]], told: object
) -> None:
    """S71, T8: the value of one field may be given as the schema describes it."""
    assert answers.read(question, message_of(*parts)) == told


@pytest.mark.parametrize(
    ("question", "parts", "field", "expected"),
    [
        (COLOUR, [{"text": "green"}], "message.parts[0].text", "«red», «blue»"),
        (COLOUR, [{"text": "red"}, {"text": "blue"}], "message.parts", "«red»"),
        (COLOUR, [{"data": 5}], "message.parts[0].data", "«red», «blue»"),
        (COLOUR, [{"data": None}], "message.parts[0].data", "«red», «blue»"),
        (COLOUR, [{"data": ["red"]}], "message.parts[0].data", "«red», «blue»"),
        (COLOUR, [{"data": {"x": 1}}], "message.parts[0].data", "«red», «blue»"),
        (SIZE, [{"data": "5"}], "message.parts[0].data", "A whole number."),
        (SIZE, [{"text": "five"}], "message.parts[0].text", "A whole number."),
        (SIZE, [{"data": {"size": 0.5}}], "message.parts[0].data.size", "A whole"),
        (ORDER, [{"text": "red"}], "message.parts[0].text", "«size»: A whole number."),
        (ORDER, [{"data": [5]}], "message.parts[0].data", "«size»: A whole number."),
        (
            ORDER,
            [{"data": {"size": "5", "colour": "red"}}],
            "message.parts[0].data.size",
            "A whole number.",
        ),
        (
            ORDER,
            [{"data": {"size": 5}}],
            "message.parts[0].data.colour",
            "It is missing. One of: «red», «blue».",
        ),
        (
            ORDER,
            [{"text": '{"size": 5, "colour": "red", "x": 1}'}],
            "message.parts[0].text.x",
            "no such member. A JSON object with these members.",
        ),
    ],
)
def test_a_bad_answer_says_what_was_expected(
    question: Question, parts: list[dict[str, Any]], field: str, expected: str
) -> None:
    """S71, T8: in the sentence too, since some clients show nothing else."""
    error = refusal_of(question, *parts)

    assert error.code is ErrorCode.INVALID_PARAMS
    (violation,) = error.violations
    assert violation.field == field
    assert expected in violation.description
    assert expected in error.message


@pytest.mark.parametrize(
    "parts",
    [
        [{"text": "red"}, {"data": "red"}],
        [{"data": "red"}, {"data": "red"}],
    ],
)
def test_an_answer_is_given_once(parts: list[dict[str, Any]]) -> None:
    """S71: nobody guesses which of two is meant."""
    error = refusal_of(COLOUR, *parts)

    assert [violation.field for violation in error.violations] == ["message.parts"]


@pytest.mark.parametrize(
    "part",
    [
        {"raw": "AAAA", "mediaType": "text/plain"},
        {"url": "https://files.example/x", "mediaType": "text/plain"},
        {"text": "x", "mediaType": "application/pdf"},
        {"data": {}, "mediaType": "text/plain"},
        {"data": {}, "mediaType": "application/xml"},
    ],
)
def test_refuses_what_is_neither_text_nor_json(part: dict[str, Any]) -> None:
    """S42: before the answer itself is looked at."""
    error = refusal_of(COLOUR, {"text": "green"}, part)

    assert error.code is ErrorCode.CONTENT_TYPE_NOT_SUPPORTED
    assert error.metadata == {
        "field": "message.parts[1]",
        "inputModes": "text/*,application/json",
    }


def test_a_refusal_can_be_written_whatever_the_answer_holds() -> None:
    """S15, T8: JSON text may spell what cannot be sent back."""
    text = '{"size": 5, "colour": "red", "\\ud800' + "x" * 100 + '": 1}'

    error = refusal_of(ORDER, {"text": text})

    (violation,) = error.violations
    assert violation.field == "message.parts[0].text.\ufffd" + "x" * 63
    assert dump_json(error_object(error))


@pytest.mark.parametrize(
    ("metadata", "named"),
    [
        (None, ""),
        ({"other": 1}, ""),
        ({PROFILE_EXTENSION_URI: "a-skill"}, ""),
        ({PROFILE_EXTENSION_URI: {}}, ""),
        ({PROFILE_EXTENSION_URI: {"questionId": None}}, ""),
        ({PROFILE_EXTENSION_URI: {"questionId": ""}}, ""),
        ({PROFILE_EXTENSION_URI: {"questionId": "q", "more": 1}}, "q"),
    ],
)
def test_a_message_may_name_its_question(
    metadata: dict[str, Any] | None, named: str
) -> None:
    """S71, S42: nothing else in a message's metadata is acted on."""
    message = message_of({"text": "x"}, metadata=metadata)

    assert answers.named_question(message) == named


def test_the_id_of_a_question_is_a_text() -> None:
    """S71."""
    metadata = {PROFILE_EXTENSION_URI: {"questionId": 5}}

    with pytest.raises(ProtocolError) as caught:
        answers.named_question(message_of({"text": "x"}, metadata=metadata))

    assert caught.value.code is ErrorCode.INVALID_PARAMS
