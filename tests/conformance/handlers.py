"""One handler that does what it is told: by the message's id, else by its text.

Kits choose the ids, people and SDK clients choose the text; two tables, looked up in that
order. What belongs to operations that do not exist yet has no row and completes at once.

A task that waits takes what follows in the same way: first by the new message's id.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Final

from agent_runs.contents import (
    DataPart,
    FilePart,
    Output,
    Result,
    TextPart,
    text_output,
)
from agent_runs.effects import Effect
from agent_runs.handlers import InputRejected, PlainHandler
from agent_runs.questions import Question, QuestionError, choice

if TYPE_CHECKING:
    from agent_runs.contents import Part, RunInput
    from agent_runs.handlers import RunContext
    from agent_runs.questions import Answer

Behaviour = Callable[["RunContext", str], Result]

_STEP_SECONDS: Final = 0.05


class AskedToFailError(Exception):
    """`fail` and `crash`: the text must never reach a client."""


def _output(*parts: Part) -> Result:
    return Result(outputs=(Output(parts=parts),))


def _complete(context: RunContext, words: str) -> Result:
    return Result()


def _noted(text: str) -> Behaviour:
    return lambda context, words: Result(note=text)


def _text(text: str) -> Behaviour:
    return lambda context, words: Result(outputs=(text_output(text),))


def _parts(*parts: Part) -> Behaviour:
    return lambda context, words: _output(*parts)


def _message(text: str) -> Behaviour:
    return lambda context, words: Result(message=(TextPart(text=text),))


def _echo(context: RunContext, words: str) -> Result:
    return Result(outputs=(text_output(words),))


def _say(context: RunContext, words: str) -> Result:
    return Result(message=(TextPart(text=words),))


def _slow(context: RunContext, words: str) -> Result:
    """Work so many seconds, in steps that a cancellation can end."""
    ends = time.monotonic() + float(words or 1)
    while time.monotonic() < ends:
        context.check()
        threading.Event().wait(_STEP_SECONDS)
    return Result(outputs=(text_output(f"worked {words} s"),))


def _fail(context: RunContext, words: str) -> Result:
    raise AskedToFailError("postgres://user:secret@database/internal")


def _skill(context: RunContext, words: str) -> Result:
    told = {"skill": context.input.skill, "metadata": dict(context.input.metadata)}
    return _output(DataPart(data=told))


# --- Questions ------------------------------------------------------------------------

_WAITING_PREFIX: Final = "tck-input-required"
_MORE: Final = Question(text="What else is to be done?")


def _choice(words: str) -> Question:
    text, _, options = words.rpartition(":")
    return choice(text, options.split(","), allow_free_text=False)


QUESTIONS: Final[Mapping[str, Callable[[str], Question]]] = MappingProxyType(
    {"ask": lambda words: Question(text=words), "choose": _choice}
)


def _asking(command: str) -> Behaviour:
    """The answer is the artifact, unless its message's id says what to do."""

    def behaviour(context: RunContext, words: str) -> Result:
        answer = context.ask(QUESTIONS[command](words))
        chosen = _by_id(answer.message_id) or _parts(TextPart(text=answer.text))
        return chosen(context, "")

    return behaviour


def _wait(context: RunContext, words: str) -> Result:
    """Wait until something else than waiting is asked for."""
    for number in itertools.count(1):
        answer = context.ask(_MORE, name=f"more-{number}")
        if not answer.message_id.startswith(_WAITING_PREFIX):
            break
    return _follow(context, answer)


def _follow(context: RunContext, answer: Answer) -> Result:
    behaviour, words = _chosen(answer.message_id, answer.text)
    return behaviour(context, words)


# --- The tables -----------------------------------------------------------------------

_FILE = "output.txt"
_URL_PART = FilePart(
    media_type="text/plain", filename=_FILE, url="https://example.com/output.txt"
)
_RAW_PART = FilePart(media_type="text/plain", filename=_FILE, raw=b"tck")
_DATA_PART = DataPart(data={"key": "value", "count": 42})

BY_PREFIX: Final[Mapping[str, Behaviour]] = MappingProxyType(
    {
        "tck-complete-task": _noted("Hello from TCK"),
        _WAITING_PREFIX: _wait,
        "tck-artifact-text": _text("Generated text content"),
        "tck-artifact-file-url": _parts(_URL_PART),
        "tck-artifact-file": _parts(_RAW_PART),
        "tck-artifact-data": _parts(_DATA_PART),
        "tck-message-response": _message("Direct message response"),
        "test-resubscribe-message-id": lambda context, words: _slow(context, "4"),
    }
)
BY_COMMAND: Final[Mapping[str, Behaviour]] = MappingProxyType(
    {
        "echo": _echo,
        "slow": _slow,
        "fail": _fail,
        "crash": _fail,
        "message": _say,
        "skill": _skill,
        "ask": _asking("ask"),
        "choose": _asking("choose"),
    }
)
_REFUSED_PREFIX: Final = "tck-reject-task"
_REFUSED_COMMAND: Final = "reject"


def behaviour_of(run_input: RunInput) -> tuple[Behaviour, str]:
    """What to do, and the words that follow the command."""
    return _chosen(run_input.message_id, run_input.text)


def _chosen(message_id: str, text: str) -> tuple[Behaviour, str]:
    if behaviour := _by_id(message_id):
        return behaviour, ""
    command, words = _split(text)
    return BY_COMMAND.get(command, _complete), words


def _by_id(message_id: str) -> Behaviour | None:
    for prefix in sorted(BY_PREFIX, key=len, reverse=True):
        if message_id.startswith(prefix):
            return BY_PREFIX[prefix]
    return None


def _split(text: str) -> tuple[str, str]:
    command, _, words = text.strip().partition(" ")
    return command, words


class StandHandler(PlainHandler):
    name: ClassVar[str] = "conformance.stand"
    label: ClassVar[str] = "Conformance stand"
    effect: ClassVar[Effect] = Effect.READ_ONLY
    input_modes: ClassVar[tuple[str, ...]] = ("text/plain", "application/json")
    output_modes: ClassVar[tuple[str, ...]] = ("text/plain", "application/json")
    # Some answers are plain messages; all others are tasks as usual.
    answers_with_message: ClassVar[bool] = True

    def check(self, run_input: RunInput) -> None:
        is_refused = run_input.message_id.startswith(_REFUSED_PREFIX)
        if is_refused or run_input.text.strip() == _REFUSED_COMMAND:
            raise InputRejected("The stand refuses this message, as it was asked to.")
        command, words = _split(run_input.text)
        if command in QUESTIONS and not _by_id(run_input.message_id):
            _check_question(command, words)

    def run(self, context: RunContext) -> Result:
        behaviour, words = behaviour_of(context.input)
        return behaviour(context, words)


def _check_question(command: str, words: str) -> None:
    try:
        QUESTIONS[command](words)
    except QuestionError as error:
        raise InputRejected(f"This cannot be asked: {error}.") from None
