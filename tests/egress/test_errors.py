from __future__ import annotations

import re
from pathlib import Path

import pytest

from egress import errors
from egress.errors import BadAnswer, EgressError, Reason, Refused, Unreachable

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "egress.md"


@pytest.mark.parametrize(
    ("kind", "has_left"), [(Refused, False), (Unreachable, False), (BadAnswer, True)]
)
def test_says_whether_anything_has_left(
    kind: type[Refused | Unreachable | BadAnswer], has_left: bool
) -> None:
    error = kind(Reason.BAD_URL, "A sentence.")

    assert isinstance(error, EgressError)
    assert error.has_left is has_left
    assert str(error) == error.sentence == "A sentence."


def test_every_code_is_documented_with_its_kind() -> None:
    table = re.findall(r"^\| `(\w+)` \| (`[a-z].*?`) \|", DOCUMENT.read_text(), re.M)

    documented = [code for _, codes in table for code in re.findall(r"`(\w+)`", codes)]

    assert sorted(documented) == sorted(Reason)
    assert {kind for kind, _ in table} == {
        kind.__name__ for kind in errors.EgressError.__subclasses__()
    }
