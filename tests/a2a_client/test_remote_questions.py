from __future__ import annotations

import uuid
from typing import Any

import pytest

from a2a_client import remote_questions
from a2a_protocol import proto_json, types
from a2a_protocol.cards import PROFILE_EXTENSION_URI
from a2a_server import documents
from agent_runs.questions import Field, Question, ValueType, choice
from agent_runs.waiting import open_question
from tests.a2a_client import agents

NAME = documents.TaskName(task_id=uuid.UUID(int=1), context_id="c")
SCHEMA = {"type": "string", "enum": ["News", "Sports"]}
SEVERAL = Question(
    text="When and for how many?",
    fields=(
        Field(name="day", label="Day", options=("Monday", "Friday")),
        Field(name="people", type=ValueType.INTEGER),
        Field(name="price", type=ValueType.NUMBER, is_required=False),
        Field(name="is_urgent", type=ValueType.BOOLEAN, is_required=False),
    ),
    details="one\ntwo",
)


def read(document: dict[str, Any]) -> tuple[Question, str]:
    message, _ = proto_json.read_lenient(types.Message, document)
    return remote_questions.read(message)


def told(**members: Any) -> dict[str, Any]:
    """A message whose metadata says what it asks, with a text for people beside it."""
    says = {"question": "Which?", "questionId": "q1", "answer": SCHEMA} | members
    metadata = {PROFILE_EXTENSION_URI: says}
    return agents.message("Which section?", metadata=metadata)


@pytest.mark.parametrize(
    "question",
    [
        Question(text="Why?"),
        Question(text="Why?", details="one\n\ntwo"),
        choice("Which?", ["a", "b"], allow_free_text=False),
        choice("Which?", ["a", "b"], allow_free_text=True),
        Question(text="How many?", fields=(Field(type=ValueType.INTEGER),)),
        Question(text="Really?", fields=(Field(type=ValueType.BOOLEAN),)),
        SEVERAL,
    ],
)
def test_a_question_of_another_installation_is_the_same_here(
    question: Question,
) -> None:
    """C8."""
    asked = open_question(question, key="k", asked_by=["k"])
    message = documents.question(asked, name=NAME, message_id="m")

    assert read(proto_json.write(message)) == (question, asked.id)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "string",
        {},
        {"type": ["string"]},
        {"type": "array"},
        {"type": "string", "enum": []},
        {"type": "string", "enum": ["one"]},
        {"type": "string", "enum": "one"},
        {"type": "string", "enum": ["one", 2]},
        {"type": "string", "enum": ["x" * 121, "b"]},
        {"type": "string", "examples": ["b", "b"]},
        {"type": "number", "enum": ["1", "2"]},
        {"type": "object"},
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"a": SCHEMA}},
        {"type": "object", "properties": {"a": SCHEMA, "b": "string"}},
        {"type": "object", "properties": {"a": SCHEMA, "b c": SCHEMA}},
    ],
)
def test_what_cannot_be_asked_as_it_is_meant_is_asked_as_a_text(answer: Any) -> None:
    assert read(told(answer=answer)) == (Question(text="Which section?"), "q1")


@pytest.mark.parametrize("text", [None, 5, "", "a\nb", "x" * 301])
def test_metadata_without_a_question_leaves_it_to_the_message(text: Any) -> None:
    assert read(told(question=text))[0] == Question(text="Which section?")


@pytest.mark.parametrize("title", [None, 5])
def test_a_field_need_not_have_a_label(title: Any) -> None:
    question, _ = read(told(answer={"type": "integer", "title": title}))

    assert question.fields == (Field(type=ValueType.INTEGER),)


def test_members_may_all_be_left_out_where_none_is_required() -> None:
    answer = {"type": "object", "properties": {"a": SCHEMA, "b": SCHEMA}, "required": 1}

    question, _ = read(told(answer=answer))

    assert [field.is_required for field in question.fields] == [False, False]


@pytest.mark.parametrize("details", [None, 5, ["x"], ""])
def test_details_that_are_no_text_are_none(details: Any) -> None:
    question, _ = read(told(details=details))

    assert question == choice("Which?", ["News", "Sports"], allow_free_text=False)


@pytest.mark.parametrize("id_", [None, 5, "x" * 201])
def test_an_id_that_is_none_is_left_out(id_: Any) -> None:
    assert read(told(questionId=id_))[1] == ""


@pytest.mark.parametrize(
    ("said", "text", "details"),
    [
        ("Which colour?", "Which colour?", ""),
        ("  Which\u200b  colour?\n", "Which colour?", ""),
        ("One.\nTwo.", "One.", "One.\nTwo."),
        ("x" * 301, "x" * 299 + "…", "x" * 301),
        ("", remote_questions.WORDLESS, ""),
        ("\u200b \n", remote_questions.WORDLESS, ""),
        # One letter that is three when it is normalised.
        ("\ufb2c" * 200, ("\u05e9\u05bc\u05c1" * 100)[:299] + "…", "\ufb2c" * 200),
    ],
)
def test_any_other_question_is_a_text_and_what_does_not_fit_stands_below(
    said: str, text: str, details: str
) -> None:
    """C8."""
    question, id_ = read(agents.message(said))

    assert question == Question(text=text, details=details)
    assert id_ == ""


def test_a_question_of_megabytes_is_cut() -> None:
    question, _ = read(agents.message("word " * 400_000))

    assert len(question.text) == 300
    assert len(question.details) == 10_000


def test_files_of_a_question_are_named_below_it() -> None:
    parts = [{"text": "Is this right?"}, {"url": "https://agent.test/draft"}]

    question, _ = read(agents.message(parts=parts))

    assert question.text == "Is this right?"
    assert question.details == "Is this right?\n[file https://agent.test/draft]"


@pytest.mark.parametrize("metadata", [None, {}, {PROFILE_EXTENSION_URI: "q1"}])
def test_other_metadata_asks_nothing(metadata: Any) -> None:
    found = read(agents.message("Why?", metadata=metadata))

    assert found == (Question(text="Why?"), "")


def test_a_task_may_ask_without_a_message() -> None:
    assert remote_questions.read(None) == (
        Question(text=remote_questions.WORDLESS),
        "",
    )
