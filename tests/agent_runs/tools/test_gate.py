from __future__ import annotations

import pytest
from pydantic_ai.messages import ToolCallPart

from agent_runs.tools import gate

CALL = ToolCallPart("look", "{}", "c1")


@pytest.mark.parametrize(
    "text", ["short", "ü" * 25_000, ""], ids=["short", "exact", "empty"]
)
def test_text_within_the_limit_stays_as_it_is(text: str) -> None:
    assert gate.cut(text) == text


def test_a_cut_never_leaves_half_a_character() -> None:
    """R6: 50,000 bytes."""
    kept = gate.cut("a" + "ü" * 25_000)

    assert kept.startswith("a" + "ü" * 24_999)
    assert "�" not in kept
    assert "[cut" in kept


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        (gate.failed(CALL, "no"), "failed"),
        (gate.denied(CALL, "no"), "denied"),
        (gate.answered(CALL, "no"), "success"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_results_name_their_call(result: gate.ToolResult, outcome: str) -> None:
    assert (result.call_id, result.tool_name) == ("c1", "look")
    assert (result.content, result.outcome) == ("no", outcome)
