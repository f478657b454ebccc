from __future__ import annotations

import pytest

from agent_runs.offline.answers import ANSWERS
from tests import growth


def test_echo_gives_the_text_back() -> None:
    assert ANSWERS["echo"](" a\n\x00") == " a\n\x00"


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize(
    "piece",
    ["a", ". ", "(", "\n", " ", "aa ", '"', "A b. ", "\n- ", "a'", "文。", "\n "],
)
def test_every_text_costs_linear_time(name: str, piece: str) -> None:
    assert growth.is_linear(ANSWERS[name], piece * (10_000 // len(piece)))
