from __future__ import annotations

import hashlib
import json
import re
import time
from typing import Any

import pytest

from agent_runs import questions
from agent_runs.questions import (
    Answer,
    BadAnswer,
    Field,
    Question,
    QuestionError,
    ValueType,
    choice,
    parse,
)

COLOURS = choice("Which colour?", ["red", "blue"], allow_free_text=False)
OPEN = Question(text="Why?")
BOOKING = Question(
    text="When and for how many?",
    fields=(
        Field(name="day", label="Day", options=("Monday", "Friday")),
        Field(name="people", type=ValueType.INTEGER),
        Field(name="price", type=ValueType.NUMBER, is_required=False),
        Field(name="is_urgent", type=ValueType.BOOLEAN, is_required=False),
    ),
)


def _single(type_: ValueType) -> Question:
    return Question(text="How much?", fields=(Field(type=type_),))


# --- What can be asked ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("", []),
        ("  ", []),
        ("a" * 301, []),
        ("two\nlines", []),
        ("right to left \u202e", []),
        ("Which?", ["one"]),
        ("Which?", [str(number) for number in range(11)]),
        ("Which?", ["a" * 121, "b"]),
        ("Which?", ["", "b"]),
        ("Which?", ["a\nb", "c"]),
        ("Which?", ["a\u200bb", "c"]),
        ("Which?", ["\u3164", "\u2800"]),
        ("Which?", ["a\u034fb", "ab"]),
        ("Which?", ["a\U000e0120", "a"]),
        ("Which?", ["a\ufe0f", "a"]),
        ("Which?", ["a\x00", "c"]),
        ("Which?", ["red", "red "]),
        ("Which?", ["e\u0301", "\u00e9"]),
        ("Which?", ["blue", "bl\u00adue"]),
    ],
    ids=ascii,
)
def test_refuses_what_cannot_be_asked(text: str, options: list[str]) -> None:
    """T7."""
    with pytest.raises(QuestionError):
        choice(text, options, allow_free_text=False)


def test_a_question_of_the_greatest_size_can_be_asked() -> None:
    """T7."""
    options = [f"{number}".rjust(120, "x") for number in range(10)]

    asked = choice("a" * 300, options, allow_free_text=True)

    assert asked.only_field
    assert asked.only_field.options == tuple(options)


@pytest.mark.parametrize(
    "fields",
    [
        (),
        (Field(), Field()),
        tuple(Field(name=f"f{number}") for number in range(21)),
    ],
    ids=["none", "twice", "too many"],
)
def test_a_question_has_some_distinct_fields(fields: tuple[Field, ...]) -> None:
    with pytest.raises(QuestionError):
        Question(text="What?", fields=fields)


@pytest.mark.parametrize("name", ["", "1st", "a b", "a" * 65, "é"], ids=repr)
def test_refuses_a_name_that_is_none(name: str) -> None:
    with pytest.raises(QuestionError):
        Field(name=name)


def test_only_texts_have_options() -> None:
    with pytest.raises(QuestionError):
        Field(type=ValueType.NUMBER, options=("1", "2"))


# --- Answers to one question ----------------------------------------------------------


@pytest.mark.parametrize(
    "given", ["blue", " blue ", "bl\u00adue", {"answer": "blue"}], ids=ascii
)
def test_an_option_is_recognised_after_normalisation(given: Any) -> None:
    """T8."""
    assert parse(COLOURS, given) == "blue"


def test_an_option_is_the_same_however_its_accents_are_written() -> None:
    """T8: NFC."""
    asked = choice("Where?", ["Café", "Bar"], allow_free_text=False)

    assert parse(asked, "Cafe\u0301") == "Café"


@pytest.mark.parametrize("given", ["green", "Blue", "", "blue, red"], ids=repr)
def test_any_other_text_is_refused_with_what_is_accepted(given: str) -> None:
    """T8."""
    with pytest.raises(BadAnswer, match=re.escape("One of: «red», «blue».")):
        parse(COLOURS, given)


def test_with_free_text_the_options_are_suggestions() -> None:
    asked = choice("Which colour?", ["red", "blue"], allow_free_text=True)

    assert parse(asked, "green") == "green"
    assert asked.schema()["examples"] == ["red", "blue"]


@pytest.mark.parametrize("question", [OPEN, COLOURS, *map(_single, ValueType)])
def test_an_answer_of_countless_accents_is_refused_at_once(
    question: Question,
) -> None:
    """T8: bringing it into one form would take minutes, in which nobody is served."""
    given = "a" + "\u0300\u0316" * 100_000
    started = time.process_time()

    with pytest.raises(BadAnswer):
        parse(question, given)

    assert time.process_time() - started < 5


@pytest.mark.parametrize("options", [[], ["a" + "\u0300\u0316" * 100_000, "b"]])
def test_a_question_of_countless_accents_is_refused_at_once(
    options: list[str],
) -> None:
    """T7."""
    text = "Which?" if options else "a" + "\u0300\u0316" * 100_000
    started = time.process_time()

    with pytest.raises(QuestionError):
        choice(text, options, allow_free_text=False)

    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    "given", ["", "   ", "\u00ad", "a" * 10_001], ids=["", "blank", "soft", "long"]
)
def test_a_free_text_says_something_and_is_bounded(given: str) -> None:
    with pytest.raises(BadAnswer):
        parse(OPEN, given)


@pytest.mark.parametrize(
    ("type_", "given", "value"),
    [
        (ValueType.NUMBER, "5", 5),
        (ValueType.NUMBER, " -1.5e1 ", -15),
        (ValueType.NUMBER, "0.25", 0.25),
        (ValueType.INTEGER, "5", 5),
        (ValueType.INTEGER, "5.0", 5),
        (ValueType.BOOLEAN, "Yes", True),
        (ValueType.BOOLEAN, "false", False),
    ],
)
def test_a_text_answers_a_single_question_of_another_type(
    type_: ValueType, given: str, value: object
) -> None:
    """T8: a single number question parses text."""
    parsed = parse(_single(type_), given)

    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("type_", "given"),
    [
        (ValueType.NUMBER, "five"),
        (ValueType.NUMBER, "1_000"),
        (ValueType.NUMBER, "٥"),
        (ValueType.NUMBER, "NaN"),
        (ValueType.NUMBER, "Infinity"),
        (ValueType.NUMBER, "1e999"),
        (ValueType.NUMBER, "0x10"),
        (ValueType.NUMBER, "1" * 101),
        (ValueType.INTEGER, "5.5"),
        (ValueType.BOOLEAN, "perhaps"),
        (ValueType.BOOLEAN, "1"),
    ],
)
def test_refuses_a_text_that_is_no_value_of_the_type(
    type_: ValueType, given: str
) -> None:
    with pytest.raises(BadAnswer):
        parse(_single(type_), given)


@pytest.mark.parametrize(
    "given", [{}, {"other": "blue"}, {"answer": "blue", "more": 1}], ids=repr
)
def test_an_object_answers_a_single_question_by_its_name_only(given: Any) -> None:
    with pytest.raises(BadAnswer):
        parse(COLOURS, given)


# --- Answers with several values ------------------------------------------------------


@pytest.mark.parametrize("as_text", [False, True], ids=["object", "text"])
def test_several_values_come_as_an_object(as_text: bool) -> None:
    """T8, S71."""
    given = {"day": "Friday", "people": 3, "is_urgent": True}

    parsed = parse(BOOKING, json.dumps(given) if as_text else given)

    assert parsed == given


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"people": 3}, "day"),
        ({"day": None, "people": 3}, "day"),
        ({"day": "Sunday", "people": 3}, "day"),
        ({"day": "Friday", "people": "3"}, "people"),
        ({"day": "Friday", "people": True}, "people"),
        ({"day": "Friday", "people": 3.5}, "people"),
        ({"day": "Friday", "people": [3]}, "people"),
        ({"day": "Friday", "people": 3, "price": "1.5"}, "price"),
        ({"day": "Friday", "people": 3, "price": 10**400}, "price"),
        ({"day": "Friday", "people": 3, "is_urgent": "yes"}, "is_urgent"),
        ({"day": "Friday", "people": 3, "is_urgent": 1}, "is_urgent"),
        ({"day": "Friday", "people": 3, "night": 1}, "night"),
        ({"day": 5, "people": 3}, "day"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_types_are_strict_in_an_object(given: Any, field: str) -> None:
    """T8: «5» is not a number there."""
    with pytest.raises(BadAnswer) as refused:
        parse(BOOKING, given)

    assert refused.value.field == field


@pytest.mark.parametrize(
    "given",
    ["Friday", "[1]", '"Friday"', "{", "NaN", "[" * 100_000, ""],
    ids=["words", "list", "string", "cut", "NaN", "deep", "empty"],
)
def test_a_text_that_is_no_object_does_not_answer_several_values(given: str) -> None:
    with pytest.raises(BadAnswer, match="JSON object"):
        parse(BOOKING, given)


@pytest.mark.parametrize("text", ['{"why": "\\ud800"}', '{"\\ud800": 1}'], ids=ascii)
def test_what_cannot_be_stored_is_no_answer(text: str) -> None:
    """S15: an escape in a text becomes a lone surrogate when it is read as JSON."""
    fields = (Field(name="why"), Field(name="else", is_required=False))

    with pytest.raises(BadAnswer) as refused:
        parse(Question(text="Why?", fields=fields), text)

    refused.value.field.encode()


def test_a_whole_double_counts_as_an_integer() -> None:
    """JSON knows one kind of number."""
    parsed = parse(BOOKING, {"day": "Friday", "people": 3.0})

    assert parsed == {"day": "Friday", "people": 3}


# --- Descriptions ---------------------------------------------------------------------


def test_says_for_people_what_is_accepted() -> None:
    assert OPEN.expected() == "A text."
    assert COLOURS.expected() == "One of: «red», «blue»."
    assert BOOKING.expected() == (
        "A JSON object with these members. «day»: One of: «Monday», «Friday». "
        "«people»: A whole number. «price» (may be left out): A number. "
        "«is_urgent» (may be left out): Yes or no."
    )


def test_says_for_machines_what_is_accepted() -> None:
    """S60."""
    assert COLOURS.schema() == {"type": "string", "enum": ["red", "blue"]}
    assert BOOKING.schema() == {
        "type": "object",
        "properties": {
            "day": {"type": "string", "title": "Day", "enum": ["Monday", "Friday"]},
            "people": {"type": "integer"},
            "price": {"type": "number"},
            "is_urgent": {"type": "boolean"},
        },
        "required": ["day", "people"],
        "additionalProperties": False,
    }


def test_the_id_follows_the_words_the_schema_and_the_open_calls() -> None:
    """T9."""
    same = choice("Which colour?", ["red", "blue"], allow_free_text=False)
    others = [
        questions.digest(COLOURS, ["c2"]),
        questions.digest(
            choice("Which?", ["red", "blue"], allow_free_text=False), ["c1"]
        ),
        questions.digest(choice("Which colour?", [], allow_free_text=False), ["c1"]),
        questions.digest(COLOURS, ["c1", "c2"]),
    ]

    id_ = questions.digest(COLOURS, ["c1"])

    assert questions.digest(same, ["c1"]) == id_
    assert len({id_, *others}) == 5


def test_details_make_another_question_and_none_keep_the_id_of_before() -> None:
    """T9: what was asked before there were details can still be answered."""
    before = '["Why?", {"type": "string"}, ["c1"]]'
    detailed = Question(text="Why?", details="Since Monday.")

    assert questions.digest(OPEN, ["c1"]) == hashlib.sha256(before.encode()).hexdigest()
    assert questions.digest(detailed, ["c1"]) != questions.digest(OPEN, ["c1"])


def test_details_have_lines_and_nothing_hidden() -> None:
    question = Question(text="Why?", details="\n\tone \u202e\r\n\ntwo\u200b\x00\n")

    assert question.details == "one\n\ntwo"


def test_details_are_bounded() -> None:
    assert len(Question(text="Why?", details="a" * 10_000).details) == 10_000
    with pytest.raises(QuestionError, match="longer than 10000"):
        Question(text="Why?", details="a" * 10_001)


def test_a_question_that_was_stored_without_details_is_read() -> None:
    stored = questions.dump(OPEN)
    del stored["details"]

    assert questions.load(stored) == OPEN


@pytest.mark.parametrize(
    "question",
    [OPEN, COLOURS, BOOKING, Question(text="Why?", details="one\ntwo")],
    ids=["open", "choice", "several", "details"],
)
def test_a_stored_question_is_read_back_the_same(question: Question) -> None:
    stored = json.loads(json.dumps(questions.dump(question)))

    assert questions.load(stored) == question


@pytest.mark.parametrize(
    ("value", "text"), [("blue", "blue"), (5, "5"), ({"day": "Ü"}, '{"day": "Ü"}')]
)
def test_an_answer_reads_as_a_text(value: Any, text: str) -> None:
    assert Answer(value=value).text == text
