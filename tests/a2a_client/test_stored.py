from __future__ import annotations

import pytest

from a2a_client import stored
from agent_runs.contents import ContentsError
from agent_runs.questions import Field, Question, ValueType


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
