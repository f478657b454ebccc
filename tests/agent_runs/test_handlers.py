from __future__ import annotations

from typing import ClassVar

import pytest

from agent_runs import handlers
from agent_runs.contents import Result, RunInput, TextPart, text_output
from agent_runs.effects import Effect
from agent_runs.handlers import (
    HandlerError,
    ModelAnswer,
    ModelHandler,
    PlainHandler,
    RunContext,
)


class Shout(PlainHandler):
    name: ClassVar[str] = "test.shout"
    effect: ClassVar[Effect] = Effect.READ_ONLY

    def run(self, context: RunContext) -> Result:
        return Result(note=context.input.text.upper())


class Ask(ModelHandler):
    name: ClassVar[str] = "test.ask"


class Undeclared(PlainHandler):
    name: ClassVar[str] = "test.undeclared"


def test_a_registered_handler_is_found_by_name() -> None:
    handlers.register(Shout())

    assert isinstance(handlers.find("test.shout"), Shout)
    assert "test.shout" in [handler.name for handler in handlers.registered()]


def test_an_unknown_name_finds_nothing() -> None:
    assert handlers.find("test.nobody") is None


def test_registering_the_same_class_again_is_fine() -> None:
    handlers.register(Shout())
    handlers.register(Shout())

    assert len([h for h in handlers.registered() if h.name == "test.shout"]) == 1


def test_another_class_under_the_same_name_is_refused() -> None:
    class Other(ModelHandler):
        name: ClassVar[str] = "test.shout"

    handlers.register(Shout())

    with pytest.raises(HandlerError, match="registered twice"):
        handlers.register(Other())


def test_plain_python_must_declare_its_effect() -> None:
    """R8: no default."""
    with pytest.raises(HandlerError, match="must declare its effect"):
        handlers.register(Undeclared())


@pytest.mark.parametrize(
    "bad_name", ["", "Test", "1a", "a..b", "a.", ".a", "a b", "a-b", "a\n", "a" * 65]
)
def test_a_name_that_is_none_is_refused(bad_name: str) -> None:
    class Named(ModelHandler):
        name: ClassVar[str] = bad_name

    with pytest.raises(HandlerError, match="no handler name"):
        handlers.register(Named())


def test_a_nameless_handler_is_refused() -> None:
    class Nameless(ModelHandler):
        pass

    with pytest.raises(HandlerError, match="no handler name"):
        handlers.register(Nameless())


def test_a_model_handler_passes_text_on_by_default() -> None:
    run_input = RunInput(parts=(TextPart(text="a"),))
    handler = Ask()

    handler.check(run_input)

    assert handler.uses_model
    assert handler.prompt(run_input) == "a"
    assert handler.result(ModelAnswer(text="b"), run_input) == Result(
        outputs=(text_output("b"),)
    )


def test_a_plain_handler_uses_no_model() -> None:
    assert not Shout().uses_model
