"""What a Celery worker does besides its tasks: beat, and hear that it should stop.

`install` is called by the project's Celery app. The beat comes from a thread of the main
process, so that neither a busy child nor a database that hangs stops the consumer (W1).
"""

from __future__ import annotations

import logging
import threading
from typing import Any

from celery import Celery, bootsteps
from celery.signals import worker_init, worker_shutting_down
from django.conf import settings
from django.db import connections
from kombu.transport import redis as kombu_redis
from kombu.transport import virtual

from agent_runs import llm, stopping, workers
from agent_runs.models.worker import Transport

logger = logging.getLogger(__name__)

QUEUE = "agent_runs"


def install(app: Celery) -> None:
    app.steps["worker"].add(HeartbeatStep)
    worker_shutting_down.connect(_on_shutting_down, weak=False)
    worker_init.connect(_on_init, weak=False)
    kombu_redis.Channel.QoS = NudgeQoS  # type: ignore[assignment]  # any will do


def _on_shutting_down(**_: Any) -> None:
    stopping.request_stop()


def _on_init(**_: Any) -> None:
    # Before a pool forks: children that import at once would all be slow at first.
    llm.warm_up()


class NudgeQoS(virtual.QoS):
    """Counts the messages under way, and never gives one back to the broker.

    They are nudges: the row says what is to be done, and one that is lost is repeated
    after a minute. kombu's own would keep a copy of each in Redis, for an hour after the
    worker died; and giving back or acknowledging over a connection that is closed ends
    the worker for good (kombu 5.7).
    """

    restore_at_shutdown = False

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        self.ack(delivery_tag)  # type: ignore[no-untyped-call]


class HeartbeatStep(bootsteps.StartStopStep):  # type: ignore[misc] # Celery is untyped
    """Announces the worker once its pool stands, if it consumes the runs' queue."""

    requires = {"celery.worker.components:Pool"}

    def __init__(self, worker: Any, **options: Any) -> None:
        super().__init__(worker, **options)
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, worker: Any) -> None:
        queues = sorted(worker.app.amqp.queues.consume_from)
        if not any(name.endswith(QUEUE) for name in queues):
            return
        identity = workers.Identity(
            transport=Transport.CELERY,
            queues=tuple(queues),
            version=settings.A2A_VERSION,
            concurrency=worker.concurrency or 1,
        )
        self._thread = threading.Thread(
            target=self._beat, args=(identity,), name="heartbeat", daemon=True
        )
        self._thread.start()

    def stop(self, worker: Any) -> None:
        self._stopped.set()
        if self._thread:
            self._thread.join(timeout=5)

    def _beat(self, identity: workers.Identity) -> None:
        self._quietly(lambda: workers.announce(identity))
        while not self._stopped.wait(workers.BEAT_SECONDS):
            self._quietly(workers.beat)
        self._quietly(workers.withdraw)
        connections.close_all()

    @staticmethod
    def _quietly(act: Any) -> None:
        try:
            act()
        except Exception:
            logger.exception("heartbeat failed")
            connections.close_all()
