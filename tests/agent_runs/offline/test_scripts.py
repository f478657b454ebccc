from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_runs.offline import scripts
from agent_runs.offline.scripts import Call, Conversation, Done

if TYPE_CHECKING:
    from collections.abc import Iterator

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "models.md"


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


def test_the_guides_script_goes_from_the_message_to_an_answer() -> None:
    names: dict[str, Any] = {"__name__": "guide"}
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    exec(code, names)  # noqa: S102 -- our own document
    script = scripts.find("sections")
    scripts.unregister("sections")
    assert script
    arguments = {"model": "newsroom.section"}
    listed = [
        Done(tool="list_records", arguments=arguments, outcome=outcome, content="two")
        for outcome in ("success", "failed")
    ]

    steps = [
        script(Conversation(prompt="Which?", done=done))
        for done in ((), (listed[0],), (listed[1],))
    ]

    assert steps == [
        (Call(tool="list_records", arguments=arguments),),
        "The sections are: two",
        "The sections cannot be listed.",
    ]
