"""The handler that needs no code of anyone's: text in, the model's answer out."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from agent_runs.handlers import InputRejected, ModelHandler

if TYPE_CHECKING:
    from agent_runs.contents import RunInput


class TextHandler(ModelHandler):
    name: ClassVar[str] = "llm.text"
    label: ClassVar[str] = "Text to text, by a language model"

    def check(self, run_input: RunInput) -> None:
        if not run_input.text.strip():
            raise InputRejected("The message holds no text.")
