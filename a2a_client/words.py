"""Words of a remote agent, made fit to stand among our own."""

from __future__ import annotations

from typing import Final

from agent_runs.cleaning import visible, visible_lines

LONGEST_EXCERPT: Final = 200

_CUT: Final = "…"


def cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - len(_CUT)] + _CUT


def one_line(text: str, longest: int) -> str:
    """Its visible characters in one line of at most `longest`."""
    # No more is looked at letter by letter than may be needed.
    found = (visible(word) for word in text[: 10 * longest].split())
    return cut(" ".join(word for word in found if word), longest)


def lines(text: str, longest: int) -> str:
    """Its visible characters; line breaks are kept."""
    return cut(visible_lines(text[: 2 * longest]), longest)


def excerpt(body: bytes) -> str:
    """The beginning of a body that is not what it should be, for an administrator."""
    text = body[: 10 * LONGEST_EXCERPT].decode(errors="replace")
    return one_line(text, LONGEST_EXCERPT)
