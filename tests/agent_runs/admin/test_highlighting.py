from __future__ import annotations

import time

import pytest

from agent_runs.admin.highlighting import MOST_UNITS, Piece, marked


def changed(pieces: list[Piece]) -> list[str]:
    return [piece.text.strip() for piece in pieces if piece.is_changed]


def whole(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


TEXTS = [
    pytest.param("", "", id="nothing"),
    pytest.param("", " new\n", id="new"),
    pytest.param("old\r\n\n", "", id="gone"),
    pytest.param("a  b\n c", "a b\n\n c ", id="white-space"),
    pytest.param("ünï 🙂 x", "ünï 🙃 x", id="letters"),
    pytest.param("a\n" * 4_000, "a\n" * 3_999 + "b\n", id="many-lines"),
    pytest.param("w " * 4_000 + "\nx", "w " * 4_000 + "\ny", id="many-words"),
]


@pytest.mark.parametrize(("before", "after"), TEXTS)
def test_nothing_of_either_text_is_lost(before: str, after: str) -> None:
    old, new = marked(before, after)

    assert (whole(old), whole(new)) == (before, after)


@pytest.mark.parametrize(("before", "after"), TEXTS)
def test_marks_something_where_texts_differ(before: str, after: str) -> None:
    old, new = marked(before, after)

    is_marked = any(piece.is_changed for piece in (*old, *new))
    assert is_marked == (before != after)


def test_marks_the_words_that_differ() -> None:
    """T16."""
    old, new = marked("The old mayor speaks.", "The new mayor speaks today.")

    assert changed(old) == ["old", "speaks."]
    assert changed(new) == ["new", "speaks today."]


def test_marks_lines_where_there_are_many_words() -> None:
    same = "word " * MOST_UNITS

    old, new = marked(f"{same}\nold line\nend", f"{same}\nnew line\nend")

    assert changed(old) == ["old line"]
    assert changed(new) == ["new line"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(" a" * MOST_UNITS, " b a" * (MOST_UNITS // 2), id="one-word"),
        pytest.param("!" * 500_000, "!?" * 250_000, id="one-long-word"),
        pytest.param("a\n" * MOST_UNITS * 9, "b\n" * MOST_UNITS * 9, id="lines"),
    ],
)
def test_takes_little_time_whatever_the_texts(before: str, after: str) -> None:
    begun = time.process_time()

    marked(before, after)

    assert time.process_time() - begun < 5
