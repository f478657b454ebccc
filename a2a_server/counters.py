"""How many tasks a client has in each state, one row for each (S65).

Always moved in the transaction that moves the tasks, and always in the order of the
client's id and the state, so that two moves which touch the same rows cannot deadlock.
A counter is a convenience: one that is wrong must never keep a run from ending, so it
stops at zero instead of failing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.db.models import Count, F
from django.db.models.functions import Greatest

from a2a_server.models import Task, TaskCounter, TaskState
from agent_runs.statements import Update, value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

_SHIFT: Final = Update(
    lambda: TaskCounter.objects.filter(
        client_id=value(TaskCounter, "client_id"), state=value(TaskCounter, "state")
    ),
    lambda: {
        "count": Greatest(F("count") + value(TaskCounter, "count", "difference"), 0)
    },
)
_ORDER: Final = {state.value: number for number, state in enumerate(TaskState)}


def add(client_id: int, state: str) -> None:
    shift({(client_id, state): 1})


def move(client_id: int, source: str, target: str) -> None:
    shift({(client_id, source): -1, (client_id, target): 1})


def forget_runs(run_ids: Sequence[UUID]) -> Mapping[str, int]:
    """Take the tasks of purged runs out of the counts (R18).

    The rows themselves go with their runs by cascade, and are counted there. A run that
    is purged has ended, so no move can come between.
    """
    tasks = Task.objects.filter(run_id__in=run_ids).order_by()
    counts = tasks.values_list("client_id", "state").annotate(Count("pk"))
    shift({(client_id, state): -number for client_id, state, number in counts})
    return {}


def shift(changes: Mapping[tuple[int, str], int]) -> None:
    """Apply differences, by client id and state."""
    for client_id, state in sorted(changes, key=lambda key: (key[0], _ORDER[key[1]])):
        difference = changes[client_id, state]
        if not _shift_one(client_id, state, difference):
            _make_rows(client_id)
            _shift_one(client_id, state, difference)


def _shift_one(client_id: int, state: str, difference: int) -> bool:
    given = {"client_id": client_id, "state": state, "difference": difference}
    return bool(_SHIFT.execute(**given))


def _make_rows(client_id: int) -> None:
    """All states at once, so that this happens once for each client."""
    rows = [TaskCounter(client_id=client_id, state=state) for state in TaskState]
    TaskCounter.objects.bulk_create(rows, ignore_conflicts=True)
