"""Cuts text into sentences that know their place. Any script, any garbage, linear time."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_CLOSING = "\"'”’»«“)\\]"
_END = re.compile(
    rf"(?P<mark>[.!?…؟]++[{_CLOSING}]*+(?=\s|\Z)|[。！？｡]++[」』”）]*+|।)"
    # An empty line ends a sentence without a mark, and so does the next list item.
    r"|\n[^\S\n]*+\n"
    r"|\n(?=[^\S\n]*+(?:[-*•–#]{1,6}|[0-9]{1,3}[.)]|[a-z]\))[^\S\n])"
)
_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_LAST_WORD = re.compile(r"[\w.]+\Z")
_LONGEST_ABBREVIATION = 12
_ABBREVIATIONS = frozenset(
    # English and German, since their dots are followed by capital letters.
    "dr mr mrs ms prof st vs etc e.g i.e cf no nr ca approx fig inc ltd jr sr "  # noqa: SIM905
    "bzw z.b d.h u.a usw vgl str".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """`start` is its offset in the text; `has_mark`: it ends with a sentence's mark."""

    text: str
    start: int
    has_mark: bool
    ends_paragraph: bool = False


def words(text: str) -> list[str]:
    return _WORD.findall(text)


def split(text: str) -> list[Sentence]:
    return list(_split(text))


def _split(text: str) -> Iterator[Sentence]:
    start = 0
    for end in _END.finditer(text):
        mark = end["mark"]
        if mark is not None and _is_abbreviation(text, start, end.start(), mark):
            continue
        stop = end.start() if mark is None else end.end()
        yield from _sentence(text, start, stop, mark is not None)
        start = end.end()
    yield from _sentence(text, start, len(text), False)


def _sentence(text: str, start: int, stop: int, has_mark: bool) -> Iterator[Sentence]:
    raw = text[start:stop]
    stripped = raw.strip()
    if not stripped:
        return
    yield Sentence(
        text=stripped,
        start=start + len(raw) - len(raw.lstrip()),
        has_mark=has_mark,
        ends_paragraph=not has_mark,
    )


def _is_abbreviation(text: str, start: int, end: int, mark: str) -> bool:
    """«Dr.», an initial, or the number of a list item: the sentence goes on."""
    if mark != ".":
        return False
    before = text[max(start, end - _LONGEST_ABBREVIATION) : end]
    found = _LAST_WORD.search(before)
    if found is None:
        return False
    word = found[0]
    if word.lower() in _ABBREVIATIONS or (len(word) == 1 and word.isupper()):
        return True
    return word.isdigit() and not text[start : end - len(word)].strip()


class Places:
    """Turns offsets into «line 3, column 14»."""

    def __init__(self, text: str) -> None:
        lengths = (len(line) + 1 for line in text.split("\n"))
        self._starts = [0, *accumulate(lengths)]

    def line_and_column(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1
