"""Accidents that happen once, however many tests ask what came of them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, TypeAlias

from tests.faults import report

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.faults.moments import Moment
    from tests.faults.ordeal import Case, Ordeal, Outcome

Seen: TypeAlias = "dict[Moment, list[tuple[Case, Outcome]]]"


class Accidents:
    def __init__(self, site: Ordeal) -> None:
        self._site = site
        self._seen: dict[str, Seen] = {}

    def of(self, accident: Callable[[Ordeal], list[Case]]) -> Seen:
        """What was seen at each moment."""
        name = accident.__name__.removeprefix("_").replace("_", " ")
        if name not in self._seen:
            # Where it fails, every other test would fail after as long a time.
            self._seen[name] = {}
            try:
                cases = accident(self._site)
            except BaseException:
                self._site.end_workers()
                raise
            self._seen[name] = _judged(name, self._site, cases)
        assert self._seen[name], "the accident itself went wrong, see the first test"
        return self._seen[name]


def _judged(name: str, site: Ordeal, cases: Sequence[Case]) -> Seen:
    seen: Seen = defaultdict(list)
    for case in cases:
        seen[case.moment].append((case, site.outcome_of(case)))
    for moment, found in seen.items():
        report.add(name, moment.name, [outcome.name for _, outcome in found])
    return dict(seen)
