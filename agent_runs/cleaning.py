"""Makes what handlers and models produce storable and sendable (S15).

PostgreSQL stores no U+0000, UTF-8 knows no lone surrogates, JSON no infinity. A handler
or model that produces them is not refused: each is replaced.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from agent_runs import rewriting

if TYPE_CHECKING:
    from agent_runs.contents import JSONValue, Result

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_REPLACEMENT = "\ufffd"


def clean_text(text: str) -> str:
    return _UNSTORABLE.sub(_REPLACEMENT, text)


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
