from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_runs import suspending
from agent_runs.models import EndReason, RunState
from agent_runs.outcomes import Failed, Suspended
from agent_runs.waiting import OpenDelegation
from tests import factories
from tests.agent_runs.segments import make_segment

if TYPE_CHECKING:
    from agent_runs.segment import Segment

pytestmark = pytest.mark.django_db

QUESTION = factories.make_question("Which colour?", "red", "blue")
SECRET = factories.make_question("Is it ada@example.org?")


def _segment(level: str = "full") -> Segment:
    provider = factories.make_provider(answer_level=level)
    return make_segment(configuration=factories.make_configuration(provider=provider))


def test_a_question_suspends_the_run_with_what_is_asked() -> None:
    ended = suspending.for_answer(_segment(), QUESTION)

    assert isinstance(ended, Suspended)
    assert (ended.target, ended.waiting) == (RunState.WAITING_FOR_INPUT, QUESTION)
    assert ended.event
    assert ended.event.content == "Which colour?\nOne of: «red», «blue»."
    assert ended.event.facts == {"tool": "ask_choice", "fields": 1}


@pytest.mark.parametrize("level", ["none", "metadata"])
def test_nothing_can_be_asked_where_nothing_may_be_kept(level: str) -> None:
    """R16."""
    ended = suspending.for_answer(_segment(level), QUESTION)

    assert isinstance(ended, Failed)
    assert ended.reason == EndReason.POLICY_DENIED


def test_the_history_holds_what_the_level_lets_it() -> None:
    """R15."""
    ended = suspending.for_answer(_segment("redacted"), SECRET)

    assert isinstance(ended, Suspended)
    assert ended.event
    assert "ada" not in (ended.event.content or "")


def test_an_approval_suspends_the_run_with_what_is_shown() -> None:
    """T11."""
    approval = factories.make_approval("write", "delete")

    ended = suspending.for_approval(_segment(), approval)

    assert (ended.target, ended.waiting) == (RunState.WAITING_FOR_APPROVAL, approval)
    assert ended.event
    assert ended.event.facts["tools"] == ["write", "delete"]


@pytest.mark.parametrize("level", ["none", "metadata"])
def test_approvals_are_possible_where_nothing_may_be_kept(level: str) -> None:
    """R15: their contents only stay out of the history."""
    ended = suspending.for_approval(_segment(level), factories.make_approval())

    assert ended.event
    assert ended.event.content is None


@pytest.mark.parametrize("level", ["none", "full"])
def test_a_delegation_suspends_the_run_whatever_may_be_kept(level: str) -> None:
    """R15: its event has facts and no words."""
    delegation = OpenDelegation(id="W1", tool="a2a_desk")

    ended = suspending.for_delegation(_segment(level), delegation, {"tool": "a2a_desk"})

    assert (ended.target, ended.waiting) == (RunState.WAITING_FOR_REMOTE, delegation)
    assert ended.event
    assert ended.event.facts == {"waiting": True, "tool": "a2a_desk"}
    assert ended.event.content is None
