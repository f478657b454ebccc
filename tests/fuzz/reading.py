"""A request's body and an answer's, read without any of the product's code."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    Pairs = Callable[[list[tuple[str, Any]]], dict[str, Any]]

DEEPEST: Final = 64
_BAD_CHARACTER: Final = re.compile("[\x00\ud800-\udfff]")


class IntegerText(str):
    """An integer as it was written."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """`id` is what has to be echoed, None where null has to be.

    `is_valid_id` is false where the id is there and is none of those that are taken.
    """

    is_json: bool
    value: Any = None
    is_repeating: bool = False
    id: str | None = None
    is_valid_id: bool = False


def read_body(body: bytes) -> Reading:
    repeats: list[set[str]] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        counted = Counter(name for name, _ in found)
        repeats.append({name for name, n in counted.items() if n > 1})
        return dict(found)

    try:
        value = _load(body, pairs)
    except (ValueError, RecursionError):
        return Reading(is_json=False)
    if _is_too_deep(value):
        return Reading(is_json=False)
    # The hook runs when an object ends, so the outermost one comes last.
    names = repeats[-1] if isinstance(value, dict) else set()
    given = value.get("id") if isinstance(value, dict) else []
    is_valid = "id" not in names and _is_valid_id(given)
    return Reading(
        is_json=True,
        value=value,
        is_repeating=any(repeats),
        id=given if is_valid else None,
        is_valid_id=is_valid,
    )


def read_answer(body: bytes) -> Any:
    """Integers come as they are written. Raises ValueError for what no client reads."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(found)
        if len(members) != len(found):
            raise ValueError("a member stands twice")
        return members

    return _load(body, pairs)


def _load(body: bytes, pairs: Pairs) -> Any:
    return json.loads(
        body.decode(),
        object_pairs_hook=pairs,
        parse_constant=_refuse,
        parse_int=IntegerText,
    )


def _refuse(text: str) -> Any:
    raise ValueError(text)


def _is_valid_id(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, IntegerText):
        return math.isfinite(float(value))
    if isinstance(value, str):
        return len(value) <= 255 and not _BAD_CHARACTER.search(value)
    return False


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _members(outer)]
    return any(isinstance(value, (dict, list)) for value in level)


def _members(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
