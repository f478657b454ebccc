from __future__ import annotations

import pytest

from a2a_client import stored
from agent_runs.contents import ContentsError
from agent_runs.questions import LONGEST_DETAILS, Field, Question, ValueType


@pytest.mark.parametrize(
    "question",
    [
        Question(text="Why?"),
        Question(
            text="Which?", details="One\nof them.", fields=(Field(options=("a", "b")),)
        ),
        Question(
            text="Both?",
            fields=(
                Field(name="year", type=ValueType.INTEGER, is_required=True),
                Field(name="place", label="Where"),
            ),
        ),
    ],
    ids=["text", "options", "object"],
)
def test_a_question_comes_back_as_it_was(question: Question) -> None:
    assert stored.load_question(stored.dump_question(question)) == question


@pytest.mark.parametrize("text", ["", "{}", "[]", "nothing", '{"version": 99}'])
def test_what_another_release_wrote_is_told(text: str) -> None:
    with pytest.raises(ContentsError):
        stored.load_question(text)


@pytest.mark.parametrize(
    "details", ["", "One\nof them.", f"{stored.NOT_TAKEN} Really."]
)
def test_a_refusal_stands_before_the_questions_own_details(details: str) -> None:
    """C8: each time anew, and whatever the agent's own words look like."""
    asked = Question(text="Which year?", details=details)
    text = stored.with_refusal(stored.dump_question(asked), "It has four digits.")

    again = stored.load_question(stored.with_refusal(text, "It is too late."))

    assert (again.text, again.fields) == (asked.text, asked.fields)
    told = f"{stored.NOT_TAKEN} It is too late."
    assert again.details == (f"{told}\n\n{details}" if details else told)


def test_a_refusal_may_cost_the_end_of_long_details() -> None:
    asked = Question(text="Which year?", details="x" * LONGEST_DETAILS)
    text = stored.with_refusal(stored.dump_question(asked), "No.")

    details = stored.load_question(text).details

    assert details.startswith(f"{stored.NOT_TAKEN} No.\n\nxxx")
    assert len(details) == LONGEST_DETAILS
