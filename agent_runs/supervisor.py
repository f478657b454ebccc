"""Keeps the leases of this process's segments, beside the code that works (R9, R14).

One daemon thread per process, with a database connection of its own, whatever the number
of segments. Once a second it asks in one query which runs are still theirs; every 15 s
it renews their leases and beats. A store that does not answer is asked again until a
lease would have run out by the monotonic clock; only then is it lost.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from django.db import Error as DatabaseError
from django.db import connections

from agent_runs import clock, lifecycle, stopping, workers
from agent_runs.segment import Ending, Segment

if TYPE_CHECKING:
    from collections.abc import Iterator

logger = logging.getLogger(__name__)

TICK_SECONDS = 1.0
RENEW_SECONDS = 15.0


class Supervisor:
    def __init__(self) -> None:
        self._segments: set[Segment] = set()
        self._changed = threading.Condition()
        # Set while the thread watches nothing and holds no connection.
        self.idle = threading.Event()
        self._pid = 0
        self._beaten_at = 0.0

    @contextmanager
    def watching(self, segment: Segment) -> Iterator[None]:
        with self._changed:
            self._ensure_thread()
            self._segments.add(segment)
            self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._segments.discard(segment)
                self._changed.notify()

    def _ensure_thread(self) -> None:
        if self._pid == os.getpid():
            return
        # A forked child has the set of its parent but not the thread.
        self._segments = set()
        self._pid = os.getpid()
        threading.Thread(target=self._run, name="supervisor", daemon=True).start()

    def _run(self) -> None:
        while True:
            segments = self._wait_for_segments()
            try:
                self._tick(segments)
            except DatabaseError:
                logger.warning("store away: leases not renewed, trying again")
                connections.close_all()
            self._end_overdue(segments)
            self._sleep()

    def _wait_for_segments(self) -> list[Segment]:
        with self._changed:
            if not self._segments:
                # Idle threads hold no connection.
                connections.close_all()
                self.idle.set()
                self._changed.wait_for(lambda: self._segments)
                self.idle.clear()
            return list(self._segments)

    def _sleep(self) -> None:
        """Until the next tick; at once when there is nothing left to watch."""
        with self._changed:
            self._changed.wait_for(lambda: not self._segments, TICK_SECONDS)

    def _tick(self, segments: list[Segment]) -> None:
        held = lifecycle.still_held([segment.lease for segment in segments])
        for segment in segments:
            if segment.run.id not in held:
                segment.end(Ending.GONE)
            elif time.monotonic() - segment.renewed_at >= RENEW_SECONDS:
                self._renew(segment)
        if time.monotonic() - self._beaten_at >= workers.BEAT_SECONDS:
            workers.beat()
            self._beaten_at = time.monotonic()

    def _renew(self, segment: Segment) -> None:
        if lifecycle.renew(segment.lease, now=clock.database_now()):
            segment.renewed_at = time.monotonic()
        else:
            segment.end(Ending.GONE)

    def _end_overdue(self, segments: list[Segment]) -> None:
        for segment in segments:
            if time.monotonic() >= segment.lease.runs_out_at:
                segment.end(Ending.GONE)
            elif stopping.grace_is_over():
                segment.end(Ending.STOPPING)


supervisor = Supervisor()
