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
from agent_runs.questions import Answer, Question, choice
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


class WaitsError(Exception):
    """The handler needs one answer more than there are."""


@dataclass
class Context:
    """A run that nobody cancels, unless `on_check` does."""

    input: RunInput
    on_check: Callable[[], None] = lambda: None
    checkpoint_state: JSONValue = None
    checked: list[bool] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    asked: list[tuple[Question, str]] = field(default_factory=list)

    def checkpoint(self, state: JSONValue) -> None:
        self.checkpoint_state = state

    def ask(self, question: Question, *, name: str = "") -> Answer:
        self.asked.append((question, name))
        if not self.answers:
            raise WaitsError
        return self.answers.pop(0)

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


# --- Questions ------------------------------------------------------------------------


def _answer(text: str, message_id: str = "m-2") -> Answer:
    return Answer(value=text, message_id=message_id)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("ask Which colour?", Question(text="Which colour?")),
        (
            "choose Now: which one?: red, light blue",
            choice("Now: which one?", ["red", "light blue"], allow_free_text=False),
        ),
    ],
)
def test_asks_and_gives_the_answer_back(text: str, question: Question) -> None:
    context = Context(_input(text), answers=[_answer("light blue")])

    result = StandHandler().run(context)

    assert context.asked == [(question, "")]
    assert result == Result(outputs=(text_output("light blue"),))


@pytest.mark.parametrize(
    "text", ["ask", "ask " + "x" * 301, "choose Q: a", "choose Q: a, a", "choose a, b"]
)
def test_what_cannot_be_asked_is_refused_before_it_is_tried(text: str) -> None:
    with pytest.raises(InputRejected, match="This cannot be asked"):
        StandHandler().check(_input(text))


def test_an_id_that_decides_makes_the_text_no_question() -> None:
    run_input = _input("ask", "tck-complete-task-1")

    StandHandler().check(run_input)

    assert _run(run_input).note == "Hello from TCK"


def test_input_required_stays_open_as_long_as_it_is_asked_for() -> None:
    waiting = _input(message_id="tck-input-required-1")
    again = _answer("more", "tck-input-required-2")

    for follow_ups in ([], [again], [again, again]):
        context = Context(waiting, answers=list(follow_ups))
        with pytest.raises(WaitsError):
            StandHandler().run(context)
        names = [name for _, name in context.asked]
        assert len(set(names)) == len(follow_ups) + 1


@pytest.mark.parametrize(
    ("follow_up", "result"),
    [
        (_answer("hi", "tck-complete-task-1"), Result(note="Hello from TCK")),
        (_answer("echo a"), Result(outputs=(text_output("a"),))),
        (_answer("hi"), Result()),
    ],
    ids=["by id", "by text", "otherwise"],
)
def test_a_follow_up_chooses_as_a_message_does(
    follow_up: Answer, result: Result
) -> None:
    waiting = _input(message_id="tck-input-required-1")

    assert StandHandler().run(Context(waiting, answers=[follow_up])) == result


def test_an_answer_can_choose_by_its_id_too() -> None:
    done = _answer("blue", "tck-complete-task-1")
    waits = _answer("blue", "tck-input-required-1")

    completed = StandHandler().run(Context(_input("ask Q"), answers=[done]))

    assert completed.note == "Hello from TCK"
    with pytest.raises(WaitsError):
        StandHandler().run(Context(_input("ask Q"), answers=[waits]))


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
