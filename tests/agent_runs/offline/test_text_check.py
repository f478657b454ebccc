from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_runs.offline import text_check


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("We saw the the cat.", "Line 1, column 12: The word «the» stands twice"),
        ("We saw\nSaw the cat.", "Line 2, column 1: The word «Saw» stands twice"),
        ("The the cat sat.", "Line 1, column 5: The word «the» stands twice"),
        ("We saw  the cat.", "Line 1, column 7: There are 2 spaces in a row."),
        ("We saw , the cat.", "Line 1, column 7: There is a space before «,»."),
        ("We came,saw the cat.", "Line 1, column 8: A space is missing after «,»."),
        ("We saw the cat!!!", "Line 1, column 15: «!!!» is repeated."),
        ("We saw (the cat.", "Line 1, column 8: This «(» is never closed."),
        ("We saw] the cat.", "Line 1, column 7: Nothing opens before this «]»."),
        ("We (saw] the cat).", "Line 1, column 8: Nothing opens before this «]»."),
        ('We saw the "cat.', 'Line 1, column 12: This «"» has no partner'),
        (
            "Fine.\n\nwe saw the cat.",
            "Line 3, column 1: The sentence begins with a small",
        ),
        ("We saw the cat", "Line 1, column 15: The sentence has no mark at its end."),
        ("Word " * 41 + ".", "Line 1, column 1: The sentence has 41 words"),
    ],
)
def test_reports_a_slip_with_its_place(text: str, finding: str) -> None:
    assert finding in text_check.report(text)


@pytest.mark.parametrize(
    "text",
    [
        "We saw the cat.",
        "A heading\n\nWe saw (the [grey] cat).",
        "Steps:\na) we open the big door\nb) we close the big door",
        "Call 10 10 10 now.",  # numbers may repeat
        'She said "yes" and left.',
        "これは文です。",
    ],
)
def test_finds_nothing_in_a_clean_text(text: str) -> None:
    assert text_check.report(text).startswith("No findings in ")


def test_counts_what_it_looked_at() -> None:
    assert text_check.report("We saw it. It left.") == (
        "No findings in 5 words, 2 sentences."
    )


@pytest.mark.parametrize("text", ["", " \n"])
def test_says_that_there_is_no_text(text: str) -> None:
    assert text_check.report(text) == "There is no text to check."


def test_a_long_list_of_findings_is_cut() -> None:
    lines = text_check.report("( " * 60).splitlines()

    assert lines[0].startswith("60 findings in 0 words")
    assert len(lines) == text_check.MOST_FINDINGS + 2
    assert lines[-1] == "… and 10 more."


@given(st.text())
def test_takes_any_text(text: str) -> None:
    assert text_check.report(text)
