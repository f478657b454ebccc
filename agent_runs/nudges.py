"""Tells the workers that a run is due. A nudge may be lost, late or doubled (W5).

The message leaves after the commit, from a thread of its own with a bounded queue: a
broker that is down or hangs costs the request nothing. What is not sent is found by the
periodic job that nudges again.
"""

from __future__ import annotations

import atexit
import logging
import os
import queue
import threading
from functools import partial
from typing import TYPE_CHECKING

from celery import current_app
from django.conf import settings
from django.db import transaction

if TYPE_CHECKING:
    from uuid import UUID

logger = logging.getLogger(__name__)

# By name, since the task's module stands above this one.
TASK_NAME = "agent_runs.execute_run"
_CAPACITY = 10_000
_FLUSH_SECONDS = 2.0


class _Sender:
    """One thread per process; a forked child starts its own."""

    def __init__(self) -> None:
        self._pid = 0
        self._start = threading.Lock()
        self._queue: queue.Queue[UUID] = queue.Queue(_CAPACITY)

    def put(self, run_id: UUID) -> None:
        self._ensure_thread()
        try:
            self._queue.put_nowait(run_id)
        except queue.Full:
            logger.warning("nudge dropped: the broker does not keep up")

    def flush(self, seconds: float) -> None:
        """Wait until what is queued was tried, at most so long."""
        with self._queue.all_tasks_done:
            self._queue.all_tasks_done.wait_for(
                lambda: not self._queue.unfinished_tasks, seconds
            )

    def _ensure_thread(self) -> None:
        with self._start:
            if self._pid == os.getpid():
                return
            self._queue = queue.Queue(_CAPACITY)
            thread = threading.Thread(
                target=self._run, args=(self._queue,), name="nudges", daemon=True
            )
            thread.start()
            self._pid = os.getpid()

    @staticmethod
    def _run(waiting: queue.Queue[UUID]) -> None:
        while True:
            run_id = waiting.get()
            try:
                _send(run_id)
            finally:
                waiting.task_done()


_sender = _Sender()


def is_configured() -> bool:
    """Without a broker, or with an eager Celery, the row waits for the sweep."""
    return bool(settings.A2A_REDIS_URL) and not settings.CELERY_TASK_ALWAYS_EAGER


def nudge(run_id: UUID) -> None:
    if is_configured():
        _sender.put(run_id)


def nudge_on_commit(run_id: UUID) -> None:
    transaction.on_commit(partial(nudge, run_id), robust=True)


def flush(seconds: float = _FLUSH_SECONDS) -> None:
    _sender.flush(seconds)


def _send(run_id: UUID) -> None:
    try:
        current_app.send_task(TASK_NAME, kwargs={"run_id": str(run_id)}, retry=False)
    except Exception as error:  # noqa: BLE001 -- whatever the broker's client raises
        # Fixed words and the class only: the text may hold the broker's address.
        logger.warning(
            "nudge not sent; the periodic job will repeat it",
            extra={"run": str(run_id), "error": type(error).__name__},
        )


atexit.register(flush)
