"""The offline models that only answer: pure functions from the asked text to a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_runs.offline import summary, text_check

if TYPE_CHECKING:
    from collections.abc import Callable


def echo(text: str) -> str:
    return text


ANSWERS: dict[str, Callable[[str], str]] = {
    "summary": summary.summarize,
    "text-check": text_check.report,
    "echo": echo,
}
