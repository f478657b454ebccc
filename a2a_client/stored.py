"""What is kept of a remote call as text. Pure."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from agent_runs import questions
from agent_runs.contents import dump_document, load_document, reading

if TYPE_CHECKING:
    from agent_runs.questions import Question

NOT_TAKEN = "The last answer was not taken."
# Beside the question's own members: what was said of the answer that was given last.
_REFUSAL = "refusal"


def dump_question(question: Question) -> str:
    return dump_document(questions.dump(question))


@reading()
def with_refusal(text: str, said: str) -> str:
    """The same stored question after an answer that was not taken."""
    return dump_document(load_document(text) | {_REFUSAL: said})


@reading()
def load_question(text: str) -> Question:
    """As it is asked now. Raises `ContentsError` for what another release wrote."""
    document = load_document(text)
    question = questions.load(document)
    if not (said := document.get(_REFUSAL)):
        return question
    details = f"{NOT_TAKEN} {said}\n\n{question.details}"
    return dataclasses.replace(question, details=details[: questions.LONGEST_DETAILS])
