"""Canonical JSON: RFC 8785, for signatures and content hashes.

Members are ordered by the UTF-16 code units of their names (section 3.2.3), and every
number is written as ECMAScript writes the double it stands for (section 3.2.2.3): the
fewest digits that give the same double back, without an exponent from 1e-6 up to below
1e21, ``-0`` as ``0``. An integer that no double holds exactly is therefore rounded.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from a2a_protocol import json_text
from a2a_protocol.errors import ErrorCode, LocalError

if TYPE_CHECKING:
    from a2a_protocol.json_text import JSONValue

# Number::toString of ECMA-262: k digits, the point after the n-th of them.
_MAX_PLAIN_POINT: Final = 21
_MIN_PLAIN_POINT: Final = -5


def canonical_json(value: JSONValue) -> str:
    """Raises LocalError for text that is no Unicode and numbers that are not finite."""
    try:
        return _written(value)
    except RecursionError:
        raise LocalError(code=ErrorCode.INTERNAL) from None


def _written(value: JSONValue) -> str:
    if isinstance(value, dict):
        return _object(value)
    if isinstance(value, list):
        return f"[{','.join(_written(item) for item in value)}]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _number(value)
    return json_text.dump_json(value)


def _object(value: dict[str, JSONValue]) -> str:
    names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    members = (f"{json_text.dump_json(name)}:{_written(value[name])}" for name in names)
    return f"{{{','.join(members)}}}"


def _number(value: float) -> str:
    if not json_text.is_finite(value):
        raise LocalError(code=ErrorCode.INTERNAL)
    double = float(value)
    if double == 0:
        return "0"
    sign = "-" if math.copysign(1, double) < 0 else ""
    # repr() gives the shortest digits that read back, as ECMAScript asks.
    parts = Decimal(repr(abs(double))).as_tuple()
    digits = "".join(map(str, parts.digits)).rstrip("0")
    point = len(parts.digits) + int(parts.exponent)
    return sign + _layout(digits, point)


def _layout(digits: str, point: int) -> str:
    if len(digits) <= point <= _MAX_PLAIN_POINT:
        return digits.ljust(point, "0")
    if 0 < point <= _MAX_PLAIN_POINT:
        return f"{digits[:point]}.{digits[point:]}"
    if _MIN_PLAIN_POINT <= point <= 0:
        return f"0.{'0' * -point}{digits}"
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{mantissa}e{point - 1:+d}"
