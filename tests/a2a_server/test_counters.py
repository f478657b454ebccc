from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from a2a_server import counters
from a2a_server.models import Client, TaskCounter, TaskState
from agent_runs.models import AgentRun
from tests.a2a_server.calling import make_task

if TYPE_CHECKING:
    from a2a_server.models import Profile

pytestmark = pytest.mark.django_db


def counts_of(client: Client) -> dict[str, int]:
    rows = TaskCounter.objects.filter(client=client, count__gt=0)
    return dict(rows.values_list("state", "count"))


def test_adds_and_moves(partner: Client, rival: Client) -> None:
    """S65."""
    for _ in range(3):
        counters.add(partner.pk, TaskState.SUBMITTED)
    counters.add(rival.pk, TaskState.SUBMITTED)

    counters.move(partner.pk, TaskState.SUBMITTED, TaskState.WORKING)

    assert counts_of(partner) == {"submitted": 2, "working": 1}
    assert counts_of(rival) == {"submitted": 1}


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (TaskState.WORKING, TaskState.COMPLETED),
        (TaskState.INPUT_REQUIRED, TaskState.WORKING),
    ],
)
def test_touches_the_rows_in_the_order_of_the_states(
    partner: Client, source: TaskState, target: TaskState
) -> None:
    """S65: whichever way a task moves, so that two moves cannot deadlock."""
    counters.add(partner.pk, TaskState.SUBMITTED)

    with CaptureQueriesContext(connection) as queries:
        counters.move(partner.pk, source, target)

    order = list(TaskState)
    expected = sorted([source, target], key=order.index)
    assert len(queries) == 2
    for query, state in zip(queries, expected, strict=True):
        assert f"'{state.value}'" in query["sql"]


def test_a_wrong_count_stops_at_zero(partner: Client) -> None:
    """S65: it must not keep a run from ending."""
    counters.move(partner.pk, TaskState.WORKING, TaskState.COMPLETED)

    assert counts_of(partner) == {"completed": 1}


def test_purged_runs_are_forgotten(
    partner: Client, rival: Client, profile: Profile
) -> None:
    """R18, S65."""
    for state in (TaskState.COMPLETED, TaskState.COMPLETED, TaskState.FAILED):
        make_task(state, client=partner, profile=profile)
    kept = make_task(TaskState.COMPLETED, client=partner, profile=profile)
    make_task(TaskState.FAILED, client=rival, profile=profile)
    purged = list(AgentRun.objects.exclude(pk=kept.run_id).values_list("pk", flat=True))

    assert counters.forget_runs(purged) == {}

    assert counts_of(partner) == {"completed": 1}
    assert counts_of(rival) == {}
