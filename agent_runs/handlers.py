"""Domain handlers: what turns an input into a run and a run's answer into a result.

A handler is registered once, in `AppConfig.ready()`, and holds no state of its own:

- `ModelHandler` gives the model a prompt and makes the result from its answer;
- `PlainHandler` is plain Python that the worker calls.

Both may refuse an input before anything happens by raising `InputRejected` from `check`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from agent_runs.contents import JSONValue, Result, RunInput, text_output
from agent_runs.effects import Effect

if TYPE_CHECKING:
    from agent_runs.questions import Answer, Question

_NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*\Z")
_LONGEST_NAME = 64


class InputRejected(Exception):  # noqa: N818 -- a verdict, not a failure
    """The handler does not take this input.

    The sentence is told to whoever asked, so it must name nothing internal.
    """


class HandlerError(Exception):
    """A handler cannot be registered as it is."""


class RunContext(Protocol):
    """What a plain handler may do with the run that executes it."""

    @property
    def input(self) -> RunInput: ...

    @property
    def checkpoint_state(self) -> JSONValue:
        """What the last `checkpoint` of an earlier segment stored, or None."""

    def checkpoint(self, state: JSONValue) -> None:
        """Store `state`, so that a later segment can go on from here."""

    def check(self) -> None:
        """Raise when the run was canceled, its lease is lost or the worker stops."""

    def ask(self, question: Question, *, name: str = "") -> Answer:
        """The answer to a question for whoever sent the input.

        Raises, the first time: the run waits then, whatever becomes of the exception, and
        once it is answered `run` begins again with the same input and checkpoint, and
        this call returns. Answers are kept under `name`; without one, under the question
        itself.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    text: str
    is_truncated: bool = False


class DomainHandler:
    """Common to both kinds; register one of the two subclasses."""

    name: ClassVar[str]
    label: ClassVar[str] = ""
    # Media types of the parts it takes and gives; `text/*` style patterns are allowed.
    input_modes: ClassVar[tuple[str, ...]] = ("text/plain",)
    output_modes: ClassVar[tuple[str, ...]] = ("text/plain",)
    answers_with_message: ClassVar[bool] = False
    uses_model: ClassVar[bool]

    def check(self, run_input: RunInput) -> None:
        """Raise `InputRejected` when the input cannot be worked on."""


class ModelHandler(DomainHandler):
    uses_model: ClassVar[bool] = True

    def prompt(self, run_input: RunInput) -> str:
        return run_input.text

    def result(self, answer: ModelAnswer, run_input: RunInput) -> Result:
        return Result(outputs=(text_output(answer.text),))


class PlainHandler(DomainHandler):
    """`effect` has no default: whether a lost segment may run again depends on it."""

    uses_model: ClassVar[bool] = False
    effect: ClassVar[Effect]

    def run(self, context: RunContext) -> Result:
        """Do the work. Called in a thread of its own that may use the ORM."""
        raise NotImplementedError


_registry: dict[str, DomainHandler] = {}


def register(handler: DomainHandler) -> None:
    """Make a handler known; the same class again is fine, another one is not."""
    name = getattr(handler, "name", "")
    if not _NAME.match(name) or len(name) > _LONGEST_NAME:
        raise HandlerError(f"{name!r} is no handler name: use lower_case.words")
    if isinstance(handler, PlainHandler) and not isinstance(
        getattr(handler, "effect", None), Effect
    ):
        raise HandlerError(f"{name} must declare its effect")
    known = _registry.get(name)
    if known is not None and type(known) is not type(handler):
        raise HandlerError(f"{name} is registered twice")
    _registry[name] = handler


def unregister(name: str) -> None:
    """Forget a handler; for tests."""
    _registry.pop(name, None)


def find(name: str) -> DomainHandler | None:
    return _registry.get(name)


def registered() -> tuple[DomainHandler, ...]:
    return tuple(_registry[name] for name in sorted(_registry))
