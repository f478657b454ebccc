"""How far a call is that somebody else works on: nothing but values."""

from __future__ import annotations

import dataclasses
from typing import get_args

import pytest

from agent_runs.questions import Question
from agent_runs.tools.progress import Asking, Done, Progress, StillRunning

EACH = [
    Done(content="Paris"),
    StillRunning(waiting_id="W1"),
    Asking(question=Question(text="Why?"), key="K1"),
]


def test_a_call_is_done_or_goes_on_or_asks() -> None:
    assert {type(one) for one in EACH} == set(get_args(Progress))


@pytest.mark.parametrize("progress", EACH, ids=["done", "still running", "asking"])
def test_what_was_said_is_not_changed_afterwards(progress: Progress) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        progress.facts = {"more": 1}  # type: ignore[misc]

    assert progress.facts == {}


def test_what_is_done_went_well_unless_it_says_otherwise() -> None:
    assert not Done(content="").is_error
