from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_runs.offline import sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Who met J. Smith. They left.", ["Dr. Who met J. Smith.", "They left."]),
        ("It costs 3.14 EUR. Fine.", ["It costs 3.14 EUR.", "Fine."]),
        ('He said "no." Then he left.', ['He said "no."', "Then he left."]),
        ("A heading\n\nA sentence.", ["A heading", "A sentence."]),
        ("List:\n- one\n- two", ["List:", "- one", "- two"]),
        ("1. Buy milk. 2. Go.", ["1. Buy milk.", "2. Go."]),
        ("これは文です。次の文。", ["これは文です。", "次の文。"]),
        ("Wait… what?!", ["Wait…", "what?!"]),
        ("", []),
        (" \n\t ", []),
        ("...", ["..."]),
    ],
)
def test_cuts_at_the_end_of_sentences(text: str, expected: list[str]) -> None:
    assert [s.text for s in sentences.split(text)] == expected


@given(st.text())
def test_every_sentence_stands_where_it_says(text: str) -> None:
    for sentence in sentences.split(text):
        end = sentence.start + len(sentence.text)

        assert text[sentence.start : end] == sentence.text


def test_places_are_counted_from_one() -> None:
    places = sentences.Places("ab\n\ncd")

    found = [places.line_and_column(offset) for offset in (0, 2, 3, 4, 5, 6)]

    assert found == [(1, 1), (1, 3), (2, 1), (3, 1), (3, 2), (3, 3)]
