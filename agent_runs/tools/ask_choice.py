"""Lets the model ask whoever sent the task (T7)."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from agent_runs import questions
from agent_runs.effects import Effect
from agent_runs.tools.contract import Tool


class AskChoice(BaseModel):
    model_config = ConfigDict(extra="forbid")

    question: str = Field(description="One line of at most 300 characters.")
    options: list[str] = Field(
        default=[],
        description="None, or 2 to 10 different lines of at most 120 characters. "
        "With none, the answer is a text.",
    )
    allow_free_text: bool = Field(
        default=False, description="Whether a text beside the options is an answer too."
    )


def _question(arguments: BaseModel) -> questions.Question:
    if not isinstance(arguments, AskChoice):
        raise TypeError("these are arguments of another tool")
    return questions.choice(
        arguments.question,
        arguments.options,
        allow_free_text=arguments.allow_free_text,
    )


def tool() -> Tool:
    return Tool(
        name="ask_choice",
        description="Asks the person or agent that sent the task, and gives the answer. "
        "Use it only for what is needed and cannot be found out otherwise.",
        parameters=AskChoice,
        effect=Effect.READ_ONLY,
        question=_question,
        group="questions",
        enabled_by_default=False,
    )
