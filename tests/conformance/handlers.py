"""One handler that does what it is told: by the message's id, else by its text.

Kits choose the ids, people and SDK clients choose the text; two tables, looked up in that
order. What belongs to operations that do not exist yet has no row and completes at once.
"""

from __future__ import annotations

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

if TYPE_CHECKING:
    from agent_runs.contents import Part, RunInput
    from agent_runs.handlers import RunContext

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


_FILE = "output.txt"
_URL_PART = FilePart(
    media_type="text/plain", filename=_FILE, url="https://example.com/output.txt"
)
_RAW_PART = FilePart(media_type="text/plain", filename=_FILE, raw=b"tck")
_DATA_PART = DataPart(data={"key": "value", "count": 42})

BY_PREFIX: Final[Mapping[str, Behaviour]] = MappingProxyType(
    {
        "tck-complete-task": _noted("Hello from TCK"),
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
    }
)
_REFUSED_PREFIX: Final = "tck-reject-task"
_REFUSED_COMMAND: Final = "reject"


def behaviour_of(run_input: RunInput) -> tuple[Behaviour, str]:
    """What to do, and the words that follow the command."""
    for prefix in sorted(BY_PREFIX, key=len, reverse=True):
        if run_input.message_id.startswith(prefix):
            return BY_PREFIX[prefix], ""
    command, _, words = run_input.text.strip().partition(" ")
    return BY_COMMAND.get(command, _complete), words


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

    def run(self, context: RunContext) -> Result:
        behaviour, words = behaviour_of(context.input)
        return behaviour(context, words)
