from __future__ import annotations

from datetime import timedelta

import pytest

from agent_runs import clock, workers
from agent_runs.models import WorkerHeartbeat
from agent_runs.models.worker import Transport
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("age", "available"),
    [(0, True), (119, True), (121, False), (-1, True), (-5, False)],
    ids=["now", "just in time", "121 s ago", "a moment later", "from the future"],
)
@pytest.mark.parametrize("transport", list(Transport))
def test_a_worker_counts_for_two_minutes(
    transport: str, age: int, available: bool
) -> None:
    """W2."""
    now = clock.database_now()
    seen = now - timedelta(seconds=age)
    factories.make_worker(transport=transport, last_seen_at=seen)

    assert workers.is_worker_available(now) is available


def test_no_worker_at_all_is_none() -> None:
    assert not workers.is_worker_available(clock.database_now())


def test_beats_of_a_process_are_one_row() -> None:
    """W1: 32 hex digits, random per process."""
    identity = workers.Identity(
        transport=Transport.CELERY, queues=("agent_runs",), version="1", concurrency=4
    )
    workers.announce(identity)
    workers.beat()

    row = WorkerHeartbeat.objects.get()
    assert len(row.worker_id) == 32
    assert int(row.worker_id, 16) >= 0
    assert (row.transport, row.queues, row.concurrency) == ("celery", "agent_runs", 4)

    workers.withdraw()
    assert not WorkerHeartbeat.objects.exists()


def test_a_process_that_is_no_worker_does_not_beat() -> None:
    workers.beat()

    assert not WorkerHeartbeat.objects.exists()


def test_rows_older_than_a_day_are_pruned() -> None:
    now = clock.database_now()
    factories.make_worker(last_seen_at=now - timedelta(hours=25))
    kept = factories.make_worker(last_seen_at=now - timedelta(hours=23))

    workers.prune()

    assert list(WorkerHeartbeat.objects.all()) == [kept]
