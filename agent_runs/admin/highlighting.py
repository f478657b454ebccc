"""What differs between two texts, as pieces that a template marks.

Words where the texts are short enough, else lines, else the whole: comparing takes time
that grows with the square of what is compared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_UNITS = 3_000
_WORDS = re.compile(r"\s*\S+|\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    text: str
    is_changed: bool


def marked(before: str, after: str) -> tuple[list[Piece], list[Piece]]:
    """Both texts whole, in pieces: what is gone in the first, what is new in the second."""
    old, new = _units(before, after)
    steps = SequenceMatcher(None, old, new).get_opcodes()
    gone = [(old[start:end], tag != "equal") for tag, start, end, _, _ in steps]
    added = [(new[start:end], tag != "equal") for tag, _, _, start, end in steps]
    return list(_pieces(gone)), list(_pieces(added))


def _units(before: str, after: str) -> tuple[list[str], list[str]]:
    words = _WORDS.findall(before), _WORDS.findall(after)
    if _are_few(*words):
        return words
    lines = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return lines if _are_few(*lines) else ([before], [after])


def _are_few(*lists: list[str]) -> bool:
    return all(len(units) <= MOST_UNITS for units in lists)


def _pieces(spans: Sequence[tuple[list[str], bool]]) -> Iterator[Piece]:
    for units, is_changed in spans:
        if units:
            yield Piece(text="".join(units), is_changed=is_changed)
