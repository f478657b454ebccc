from __future__ import annotations

import pytest

from agent_runs import handlers
from agent_runs.contents import DataPart, RunInput, TextPart, text_output
from agent_runs.handlers import InputRejected, ModelAnswer
from agent_runs.llm_text import TextHandler


def test_is_registered_by_the_package_itself() -> None:
    """P3: the handler `llm.text`."""
    assert isinstance(handlers.find("llm.text"), TextHandler)


def test_sends_the_text_and_gives_one_text_back() -> None:
    """S62: one text artifact."""
    run_input = RunInput(parts=(TextPart(text="a"), TextPart(text="b")))

    prompt = TextHandler().prompt(run_input)
    result = TextHandler().result(ModelAnswer(text="answer"), run_input)

    assert prompt == "a\nb"
    assert result.outputs == (text_output("answer"),)


@pytest.mark.parametrize(
    "parts", [(), (TextPart(text=" \n"),), (DataPart(data={"a": 1}),)]
)
def test_refuses_an_input_without_text(parts: tuple[TextPart | DataPart, ...]) -> None:
    with pytest.raises(InputRejected, match="no text"):
        TextHandler().check(RunInput(parts=parts))


def test_takes_an_input_with_text() -> None:
    TextHandler().check(RunInput(parts=(TextPart(text="a"),)))
