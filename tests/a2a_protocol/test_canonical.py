from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from a2a_protocol.canonical import canonical_json
from a2a_protocol.errors import LocalError

if TYPE_CHECKING:
    from a2a_protocol.json_text import JSONValue


@pytest.mark.parametrize(
    ("number", "text"),
    [
        # Samples of RFC 8785 appendix B, then the borders of each layout.
        (0.0, "0"),
        (-0.0, "0"),
        (5e-324, "5e-324"),
        (-5e-324, "-5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (9007199254740992, "9007199254740992"),
        (295147905179352830000, "295147905179352830000"),
        (9.999999999999997e22, "9.999999999999997e+22"),
        (1e23, "1e+23"),
        (333333333.3333332, "333333333.3333332"),
        (0, "0"),
        (-7, "-7"),
        (1.0, "1"),
        (4.5, "4.5"),
        (100, "100"),
        (0.002, "0.002"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (-1.5e-7, "-1.5e-7"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (10**21, "1e+21"),
        (2**53 + 1, "9007199254740992"),
    ],
)
def test_writes_numbers_as_ecmascript_does(number: float, text: str) -> None:
    assert canonical_json(number) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(
            {"b": 1, "a": [True, False, None]}, '{"a":[true,false,null],"b":1}'
        ),
        pytest.param(
            {"\ufb33": 1, "😀": 2, "\r": 3, "1": 4, "ö": 5, "€": 6, "\x80": 7},
            '{"\\r":3,"1":4,"\x80":7,"ö":5,"€":6,"😀":2,"\ufb33":1}',
            id="by UTF-16 code units, RFC 8785 section 3.2.3",
        ),
        pytest.param(
            '€$\x0f\nA\'B"\\"/', '"€$\\u000f\\nA\'B\\"\\\\\\"/"', id="escapes"
        ),
    ],
)
def test_writes_members_in_order(value: JSONValue, text: str) -> None:
    assert canonical_json(value) == text


def too_deep() -> JSONValue:
    value: JSONValue = []
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(math.nan, id="NaN"),
        pytest.param([math.inf], id="Infinity"),
        pytest.param(10**400, id="an integer that no double comes near"),
        pytest.param({"\ud800": 1}, id="half a surrogate pair in a name"),
        pytest.param("\ud800", id="half a surrogate pair"),
        pytest.param(too_deep(), id="too deep"),
    ],
)
def test_refuses_what_has_no_canonical_form(value: JSONValue) -> None:
    with pytest.raises(LocalError):
        canonical_json(value)
