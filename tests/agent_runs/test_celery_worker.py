"""A real Celery worker on a real broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from kombu import Connection
from kombu.transport import redis as kombu_redis
from redis import Redis

from agent_runs.celery_worker import NudgeQoS
from tests.settings import TEST_DIR

if TYPE_CHECKING:
    from tests import processes

pytestmark = pytest.mark.services


def test_a_nudge_under_way_leaves_no_copy_in_the_broker(
    monkeypatch: pytest.MonkeyPatch, redis_url: str
) -> None:
    """W5: it would be delivered once more, long after its run has ended."""
    monkeypatch.setattr(kombu_redis.Channel, "QoS", NudgeQoS)
    options = {"global_keyprefix": f"{TEST_DIR.name}:"}
    with (
        Connection(redis_url, transport_options=options) as broker,
        Redis.from_url(redis_url) as client,
    ):
        queue = broker.SimpleQueue("nudges")
        queue.put({})

        message = queue.get(timeout=5)

        kept = client.keys(f"{TEST_DIR.name}:*unacked*")
        channel = queue.channel
        channel.basic_qos(prefetch_count=1)
        could_consume = channel.qos.can_consume()
        message.reject()
        assert (kept, could_consume) == ([], False)
        assert channel.qos.can_consume()


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
