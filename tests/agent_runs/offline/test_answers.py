from __future__ import annotations

import time

import pytest

from agent_runs.offline.answers import ANSWERS


def test_echo_gives_the_text_back() -> None:
    assert ANSWERS["echo"](" a\n\x00") == " a\n\x00"


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize(
    "piece",
    ["a", ". ", "(", "\n", " ", "aa ", '"', "A b. ", "\n- ", "a'", "文。", "\n "],
)
def test_every_text_costs_linear_time(name: str, piece: str) -> None:
    """Ten times the text may take about ten times as long, not a hundred."""
    short = piece * (10_000 // len(piece))

    assert _seconds(name, short * 10) < 35 * _seconds(name, short) + 0.3


def _seconds(name: str, text: str) -> float:
    started = time.thread_time()
    ANSWERS[name](text)
    return time.thread_time() - started
