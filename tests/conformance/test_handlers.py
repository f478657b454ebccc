from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from agent_runs.contents import (
    DataPart,
    FilePart,
    Result,
    RunInput,
    TextPart,
    text_output,
)
from agent_runs.handlers import InputRejected
from tests.conformance.handlers import (
    BY_PREFIX,
    AskedToFailError,
    StandHandler,
    behaviour_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_runs.contents import JSONValue


def _input(text: str = "hi", message_id: str = "m-1", **values: Any) -> RunInput:
    return RunInput(parts=(TextPart(text=text),), message_id=message_id, **values)


@dataclass
class Context:
    """A run that nobody cancels, unless `on_check` does."""

    input: RunInput
    on_check: Callable[[], None] = lambda: None
    checkpoint_state: JSONValue = None
    checked: list[bool] = field(default_factory=list)

    def checkpoint(self, state: JSONValue) -> None:
        self.checkpoint_state = state

    def check(self) -> None:
        self.checked.append(True)
        self.on_check()


def _run(run_input: RunInput) -> Result:
    return StandHandler().run(Context(run_input))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("echo a b", Result(outputs=(text_output("a b"),))),
        ("message a b", Result(message=(TextPart(text="a b"),))),
        ("anything else", Result()),
    ],
)
def test_clients_choose_by_text(text: str, result: Result) -> None:
    assert _run(_input(text)) == result


@pytest.mark.parametrize(
    ("message_id", "part"),
    [
        ("tck-artifact-text-1", TextPart(text="Generated text content")),
        ("tck-artifact-data-1", DataPart(data={"key": "value", "count": 42})),
        (
            "tck-artifact-file-1",
            FilePart(media_type="text/plain", filename="output.txt", raw=b"tck"),
        ),
        (
            "tck-artifact-file-url-1",
            FilePart(
                media_type="text/plain",
                filename="output.txt",
                url="https://example.com/output.txt",
            ),
        ),
    ],
)
def test_kits_choose_by_id_and_the_longest_prefix_wins(
    message_id: str, part: object
) -> None:
    [output] = _run(_input("echo not this", message_id)).outputs

    assert output.parts == (part,)


def test_the_id_decides_before_the_text() -> None:
    assert _run(_input("echo x", "tck-complete-task-7")).note == "Hello from TCK"
    assert _run(_input("echo x", "tck-message-response")).message


def test_the_skill_command_tells_skill_and_metadata() -> None:
    [output] = _run(_input("skill", skill="stand", metadata={"a": 1})).outputs

    assert output.parts == (DataPart(data={"skill": "stand", "metadata": {"a": 1}}),)


@pytest.mark.parametrize("command", ["fail", "crash"])
def test_failing_says_something_that_must_not_leave(command: str) -> None:
    with pytest.raises(AskedToFailError, match="secret"):
        _run(_input(command))


@pytest.mark.parametrize(
    "run_input", [_input("reject"), _input(message_id="tck-reject-task-1")]
)
def test_refuses_when_asked_to(run_input: RunInput) -> None:
    with pytest.raises(InputRejected):
        StandHandler().check(run_input)


def test_slow_work_can_be_canceled() -> None:
    class CanceledError(Exception):
        pass

    def cancel() -> None:
        raise CanceledError

    behaviour, words = behaviour_of(_input("slow 60"))

    with pytest.raises(CanceledError):
        behaviour(Context(_input(), on_check=cancel), words)


def test_slow_work_ends() -> None:
    assert _run(_input("slow 0")) == Result(outputs=(text_output("worked 0 s"),))


def test_no_prefix_hides_a_longer_one() -> None:
    for prefix in BY_PREFIX:
        behaviour, _ = behaviour_of(_input(message_id=f"{prefix}-1"))
        assert behaviour is BY_PREFIX[prefix]
