"""The offline models by name: pure functions from the asked text to the answer.

Nothing of pydantic-ai is imported here, so that checks and forms can ask for the names.
"""

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
