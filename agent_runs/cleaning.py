"""Makes what handlers and models produce storable and sendable (S15).

PostgreSQL stores no U+0000, UTF-8 knows no lone surrogates, JSON no infinity. A handler
or model that produces them is not refused: each is replaced.
"""

from __future__ import annotations

import math
import re
import unicodedata
from typing import TYPE_CHECKING

from agent_runs import rewriting

if TYPE_CHECKING:
    from agent_runs.contents import JSONValue, Result

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_REPLACEMENT = "\ufffd"
# Controls, formats (joiners, directions), surrogates, private use, unassigned, separators.
_HIDING = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters and marks by their category, and yet nobody sees them. The two selectors that
# choose how an emoji looks are none of them.
_BLANK = frozenset(
    map(
        chr,
        (
            *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
            *(0x180B, 0x180C, 0x180D, 0x180F),
            *range(0xFE00, 0xFE0E),
            *range(0xE0100, 0xE01F0),
        ),
    )
)


def clean_text(text: str) -> str:
    return _UNSTORABLE.sub(_REPLACEMENT, text)


def is_hidden(letter: str) -> bool:
    """Whether nobody sees it, or it changes the order of others."""
    return letter in _BLANK or unicodedata.category(letter) in _HIDING


def visible(text: str) -> str:
    """Its visible characters."""
    if text.isascii() and text.isprintable():
        # As most text is; this is asked of whole cards with every message.
        return text
    return "".join(letter for letter in text if not is_hidden(letter))


def visible_lines(text: str) -> str:
    """Its visible characters, without blank lines at either end; tabs are spaces."""
    lines = (visible(line.expandtabs(1)) for line in text.splitlines())
    return "\n".join(line.rstrip() for line in lines).strip()


def clean_value(value: JSONValue) -> JSONValue:
    """Numbers that are not finite as a double become null."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [clean_value(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(name): clean_value(item) for name, item in value.items()}
    if isinstance(value, (int, float)) and not _is_finite(value):
        return None
    return value


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


_CLEANING = rewriting.Changes(text=clean_text, value=clean_value)


def clean_result(result: Result) -> Result:
    return rewriting.rewrite_result(result, _CLEANING)
