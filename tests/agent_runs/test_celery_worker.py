"""A real Celery worker on a real broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests import processes

pytestmark = pytest.mark.services


def test_a_worker_announces_itself_and_takes_its_leave(
    full_site: processes.Installation,
) -> None:
    """W1: beats only for the runs' queue, and the row goes at shutdown."""
    query = "SELECT transport, queues FROM agent_runs_workerheartbeat"
    worker = full_site.start_celery_worker()
    announced = full_site.rows(query)

    code = worker.stop()

    assert announced == [("celery", "agent_runs")]
    assert code == 0
    assert full_site.rows(query) == []


def test_the_worker_of_the_jobs_alone_is_no_worker_for_runs(
    full_site: processes.Installation,
) -> None:
    """W1, W6."""
    worker = full_site.start_periodic_worker()

    assert full_site.live_workers() == 0
    assert worker.stop() == 0
