from __future__ import annotations

import pytest

from agent_runs import waiting
from agent_runs.contents import ContentsError
from agent_runs.questions import Question
from agent_runs.waiting import OpenApproval, OpenDelegation, ShownCall, open_approval
from tests import factories


def _call(**values: str) -> ShownCall:
    defaults = {"call_id": "c1", "tool": "write", "arguments": "{}", "preview": "a → b"}
    return ShownCall(**defaults | values)


@pytest.mark.parametrize(
    "found",
    [
        factories.make_question("Which?", "red", "blue"),
        open_approval([_call(), _call(call_id="c2", preview="")]),
        OpenDelegation(id="W1", tool="a2a_desk"),
    ],
    ids=["question", "approval", "delegation"],
)
def test_what_is_stored_is_read_back_the_same(found: waiting.Waiting) -> None:
    assert waiting.load(waiting.dump(found)) == found


@pytest.mark.parametrize(
    "text",
    [
        '{"format": 99}',
        '{"format": 1}',
        '{"format": 1, "question": {"more": 1}}',
        '{"format": 1, "approval": {"calls": [{}]}}',
        '{"format": 1, "delegation": {"id": "W1"}}',
    ],
)
def test_another_releases_text_is_not_guessed_at(text: str) -> None:
    with pytest.raises(ContentsError):
        waiting.load(text)


@pytest.mark.parametrize(
    "changed",
    [
        {"call_id": "c2"},
        {"tool": "delete"},
        {"arguments": '{"x": 1}'},
        {"preview": "a → c"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_whatever_is_shown_differently_makes_another_approval(
    changed: dict[str, str],
) -> None:
    """T12, T13: a verdict is bound to what was shown."""
    assert open_approval([_call(**changed)]).id != open_approval([_call()]).id


def test_an_approval_of_more_calls_is_another_one() -> None:
    assert open_approval([_call(), _call()]).id != open_approval([_call()]).id


def test_a_question_is_named_by_what_else_is_open() -> None:
    """T9."""
    question = Question(text="Which?")

    one = waiting.open_question(question, key="c1", asked_by=["c1"])
    other = waiting.open_question(question, key="c1", asked_by=["c1", "c2"])

    assert one.id != other.id


def test_reads_as_a_text_for_the_history() -> None:
    asked = factories.make_question("Which?", "red", "blue")
    approval: OpenApproval = open_approval([_call(), _call(preview="")])

    assert waiting.as_text(asked) == "Which?\nOne of: «red», «blue»."
    assert waiting.as_text(approval) == "write {}\na → b\n\nwrite {}"


def test_details_stand_between_the_question_and_what_is_expected() -> None:
    question = Question(text="Which?", details="one\ntwo")
    asked = waiting.open_question(question, key="c1", asked_by=["c1"])

    assert waiting.as_text(asked) == "Which?\n\none\ntwo\n\nA text."


def test_people_are_told_which_tool_a_run_waits_for() -> None:
    assert waiting.as_text(OpenDelegation(id="W1", tool="a2a_desk")) == "a2a_desk"
