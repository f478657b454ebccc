from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agent_runs.effects import Effect
from agent_runs.tools import ask_choice, gate
from agent_runs.tools.contract import ToolError
from tests.agent_runs import drafts

if TYPE_CHECKING:
    from agent_runs.questions import Question


def asked(**arguments: Any) -> Question:
    return gate.question_of(drafts.part_of("ask_choice", arguments), ask_choice.tool())


def test_ships_disabled_and_only_asks() -> None:
    """T2, T5."""
    tool = ask_choice.tool()

    assert (tool.enabled_by_default, tool.asks_client) == (False, True)
    assert (tool.effect, tool.needs_approval) == (Effect.READ_ONLY, False)


def test_asks_for_a_text_or_for_an_option() -> None:
    """T7."""
    assert asked(question="Why?").expected() == "A text."
    assert asked(question="Which?", options=["a", "b"]).expected() == (
        "One of: «a», «b»."
    )
    assert asked(
        question="Which?", options=["a", "b"], allow_free_text=True
    ).expected() == ("One of: «a», «b», or another text.")


@pytest.mark.parametrize(
    "arguments",
    [
        {"question": ""},
        {"question": "two\nlines"},
        {"question": "x" * 301},
        {"question": "Which?", "options": ["one"]},
        {"question": "Which?", "options": ["a", "a\u00ad "]},
        {"question": "Which?", "options": [str(n) for n in range(11)]},
        {"question": "Which?", "options": ["a", "x" * 121]},
        {"question": "Which?", "options": ["a", "b\u200b"]},
        {"question": 5},
        {"question": "Which?", "choices": ["a", "b"]},  # a parameter that is none
        {},
    ],
)
def test_what_cannot_be_asked_is_an_error_for_the_model(
    arguments: dict[str, Any],
) -> None:
    """T7."""
    with pytest.raises(ToolError):
        asked(**arguments)
