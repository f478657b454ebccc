from __future__ import annotations

from typing import Any

import pytest

from agent_runs import fencing
from agent_runs.offline import delegating, scripts
from agent_runs.offline.scripts import Call, Conversation, Done, OfferedTool

TASK = {"task": {"type": "string"}}


def _tools(**parameters: dict[str, Any]) -> dict[str, OfferedTool]:
    return {
        name: OfferedTool(description="", schema={"properties": properties})
        for name, properties in parameters.items()
    }


def _report(outcome: str, content: str) -> str | tuple[Call, ...]:
    done = Done(tool="desk", arguments={}, outcome=outcome, content=content)
    return delegating.delegate(
        Conversation(prompt="Find it.", tools=_tools(desk=TASK), done=(done,))
    )


def test_every_installation_knows_it() -> None:
    assert scripts.find("delegate") is delegating.delegate


def test_hands_the_message_to_the_first_tool_that_takes_a_task() -> None:
    tools = _tools(look={"query": {}}, desk=TASK, other=TASK)

    step = delegating.delegate(Conversation(prompt="Find it.", tools=tools))

    assert step == (Call(tool="desk", arguments={"task": "Find it."}),)


@pytest.mark.parametrize(
    "skill",
    [
        # As pydantic writes one choice, several, and several that may be left out.
        {"const": "news"},
        {"enum": ["news", "sports"]},
        {"anyOf": [{"enum": ["news", "sports"]}, {"type": "null"}], "default": None},
    ],
)
def test_takes_the_first_of_what_may_be_chosen(skill: dict[str, Any]) -> None:
    tools = _tools(desk={"skill": skill, "note": {"type": "string"}, **TASK})

    step = delegating.delegate(Conversation(prompt="Find it.", tools=tools))

    arguments = {"task": "Find it.", "skill": "news"}
    assert step == (Call(tool="desk", arguments=arguments),)


def test_gives_the_result_as_the_answer_without_its_fence() -> None:
    fenced = fencing.fence("Paris\nand Rome", source="desk")

    assert _report("success", fenced) == "Paris\nand Rome"


@pytest.mark.parametrize(
    ("outcome", "content", "told"),
    [
        (
            "failed",
            fencing.fence("It broke.", source="x"),
            "There is no result. It broke.",
        ),
        ("failed", "It is switched off.", "There is no result. It is switched off."),
        ("denied", "No.", "Nothing was handed on: it was not approved."),
    ],
)
def test_says_that_there_is_no_result(outcome: str, content: str, told: str) -> None:
    assert _report(outcome, content) == told


@pytest.mark.parametrize(
    ("conversation", "told"),
    [
        (Conversation(prompt="x", tools=_tools(look={"query": {}})), "no tool"),
        (Conversation(prompt="x", tools=_tools(desk=TASK), may_call=False), "rounds"),
        (Conversation(prompt=" \n", tools=_tools(desk=TASK)), "send a text"),
    ],
)
def test_says_why_nothing_is_handed_on(conversation: Conversation, told: str) -> None:
    answer = delegating.delegate(conversation)

    assert isinstance(answer, str)
    assert told in answer
