from __future__ import annotations

from a2a_client import words


def test_one_line_keeps_what_is_visible() -> None:
    assert words.one_line(" a\x1b[0m\u202e b\r\n\n\u200bc\t", 50) == "a[0m b c"


def test_one_line_drops_a_word_that_nobody_sees() -> None:
    assert words.one_line("a \u200b b", 50) == "a b"


def test_a_long_text_is_cut_to_the_length() -> None:
    assert words.one_line("a" * 50, 50) == "a" * 50
    assert words.one_line("a" * 51, 50) == "a" * 49 + "…"
    assert words.lines("a" * 51, 50) == "a" * 49 + "…"


def test_a_text_of_megabytes_is_looked_at_no_further_than_needed() -> None:
    assert words.one_line("a\u200b" * 1_000_000, 5) == "aaaa…"


def test_lines_keep_their_breaks() -> None:
    assert words.lines("\n a\u202e\r\nb \u2028\tc\x00\n\n", 50) == "a\nb\n c"


def test_an_excerpt_is_short_and_survives_any_bytes() -> None:
    assert words.excerpt(b"<html>\xff\n <body>" + b"x" * 5000) == (
        "<html>\ufffd <body>" + "x" * 185 + "…"
    )
