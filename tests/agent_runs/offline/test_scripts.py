from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_runs.offline import scripts
from agent_runs.offline.scripts import Conversation, Done

if TYPE_CHECKING:
    from collections.abc import Iterator


def _greet(conversation: Conversation) -> str:
    return "Hello."


def _part(conversation: Conversation) -> str:
    return "Goodbye."


@pytest.fixture
def _greeting() -> Iterator[None]:
    scripts.register("greeting", _greet)
    yield
    scripts.unregister("greeting")


@pytest.mark.usefixtures("_greeting")
def test_the_same_script_may_come_twice_and_another_may_not() -> None:
    scripts.register("greeting", _greet)

    with pytest.raises(ValueError, match="an offline model greeting already"):
        scripts.register("greeting", _part)
    assert scripts.find("greeting") is _greet


@pytest.mark.usefixtures("_greeting")
def test_people_are_told_every_name() -> None:
    assert scripts.listed().startswith("«summary», «text-check», «echo»")
    assert scripts.listed().endswith("«greeting»")


def test_what_nobody_registered_is_not_found() -> None:
    assert scripts.find("greeting") is None


def test_finds_the_last_call_of_a_tool() -> None:
    first, second = (
        Done(tool="look", arguments={}, outcome=outcome, content="")
        for outcome in ("failed", "success")
    )
    conversation = Conversation(prompt="", done=(first, second))

    assert conversation.last("look") is second
    assert conversation.last("ask") is None
