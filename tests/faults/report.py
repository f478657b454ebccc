"""What the suite has seen, for the table at its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """`outcomes`: how often each was seen."""

    accident: str
    point: str
    outcomes: Mapping[str, int]

    @property
    def repetitions(self) -> int:
        return sum(self.outcomes.values())


_lines: list[Line] = []


def add(accident: str, point: str, outcomes: Iterable[str]) -> None:
    counted: dict[str, int] = {}
    for outcome in outcomes:
        counted[outcome] = counted.get(outcome, 0) + 1
    _lines.append(Line(accident=accident, point=point, outcomes=counted))


def table() -> Iterator[str]:
    """Nothing where nothing was seen."""
    if not _lines:
        return
    first = max(len(line.accident) for line in _lines)
    second = max(len(line.point) for line in _lines)
    yield f"{'accident':{first}}  {'point':{second}}  times  outcomes"
    for line in _lines:
        seen = ", ".join(f"{name} {n}" for name, n in sorted(line.outcomes.items()))
        yield (
            f"{line.accident:{first}}  {line.point:{second}}  "
            f"{line.repetitions:5}  {seen}"
        )
