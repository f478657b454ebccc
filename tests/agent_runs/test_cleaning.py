from __future__ import annotations

import pytest

from agent_runs import cleaning
from agent_runs.contents import (
    DataPart,
    FilePart,
    JSONValue,
    Output,
    Result,
    TextPart,
    dump_result,
)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("a\x00b", "a\ufffdb"),
        ("a\ud800b\udfff", "a\ufffdb\ufffd"),  # lone surrogates
        ("tab\tline\nbell\x07", "tab\tline\nbell\x07"),  # storable, so untouched
        ("😀", "😀"),
    ],
)
def test_replaces_what_cannot_be_stored(text: str, clean: str) -> None:
    """S15: U+0000 and lone surrogates become U+FFFD."""
    assert cleaning.clean_text(text) == clean


@pytest.mark.parametrize(
    ("value", "clean"),
    [
        (float("inf"), None),
        (float("nan"), None),
        (10**400, None),  # a whole number that no double holds
        (10**300, 10**300),
        (True, True),
        (1.5, 1.5),
        (
            {"a\x00": ["\x00", {"n": float("-inf")}]},
            {"a\ufffd": ["\ufffd", {"n": None}]},
        ),
    ],
)
def test_cleans_values_at_every_depth(value: JSONValue, clean: JSONValue) -> None:
    assert cleaning.clean_value(value) == clean


def test_a_cleaned_result_can_be_stored() -> None:
    result = Result(
        outputs=(
            Output(
                parts=(
                    TextPart(text="\x00"),
                    DataPart(data=float("nan")),
                    FilePart(media_type="application/octet-stream", raw=b"a\x00b"),
                ),
                metadata={"n": float("inf")},
            ),
        ),
        note="\ud800",
    )

    clean = cleaning.clean_result(result)

    stored = dump_result(clean)
    stored.encode()
    assert "\x00" not in stored
    assert clean.note == "\ufffd"
    # The bytes of a file are no text.
    assert clean.outputs[0].parts[2] == result.outputs[0].parts[2]


@pytest.mark.parametrize(
    "letter", "\u202e\u200b\u00ad\u3164\u2800\u034f\ufe00\U000e0120"
)
def test_some_letters_are_seen_by_nobody(letter: str) -> None:
    """T7, T11."""
    assert cleaning.is_hidden(letter)


@pytest.mark.parametrize("letter", ["a", " ", "é", "\u0301", "한", "😀", "\ufe0f"])
def test_other_letters_are_seen(letter: str) -> None:
    assert not cleaning.is_hidden(letter)


def test_visible_lines_keep_their_breaks_and_nothing_hidden() -> None:
    text = "\r\n\t One \u202etwo\u200b\x00  \r\n\nthree\u2028four\x07\n \n"

    assert cleaning.visible_lines(text) == "One two\n\nthree\nfour"


def test_no_printable_ascii_is_hidden() -> None:
    """What is not looked at letter by letter would have stayed whole."""
    letters = "".join(map(chr, range(0x20, 0x7F)))

    assert cleaning.visible(letters) == letters
    assert not any(map(cleaning.is_hidden, letters))


@pytest.mark.parametrize("hidden", ["\x00", "\x7f", "\u200b", "\u202e", "\u00ad"])
def test_hidden_characters_are_left_out_wherever_they_are(hidden: str) -> None:
    assert cleaning.visible(f"{hidden}a{hidden}b{hidden}") == "ab"
