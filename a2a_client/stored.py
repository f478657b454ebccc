"""What is kept of a remote call as text. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_runs import questions
from agent_runs.contents import dump_document, load_document, reading

if TYPE_CHECKING:
    from agent_runs.questions import Question


def dump_question(question: Question) -> str:
    return dump_document(questions.dump(question))


@reading()
def load_question(text: str) -> Question:
    """Raises `ContentsError` for what another release wrote."""
    return questions.load(load_document(text))
