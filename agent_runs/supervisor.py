"""Keeps the leases of this process's segments, beside the code that works (R9, R14).

Two daemon threads per process, whatever the number of segments. One has a database
connection of its own: once a second it asks in one query which leases still hold, every
15 s it renews them and beats; a segment that is over sooner costs it nothing. The other
looks at the monotonic clock and at the stop flag only, so that a lease ends in time even
while the database hangs. A store that fails is asked again; a lease is lost when it is
gone from its row or has run out.
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
    from collections.abc import Callable, Iterator

logger = logging.getLogger(__name__)

TICK_SECONDS = 1.0
RENEW_SECONDS = 15.0


class Supervisor:
    def __init__(self, *, tick_seconds: float = TICK_SECONDS) -> None:
        self.tick_seconds = tick_seconds
        self._segments: set[Segment] = set()
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._pid = 0
        self._beaten_at = 0.0
        # Set while no connection is held.
        self.idle = threading.Event()
        self.idle.set()

    @contextmanager
    def watching(self, segment: Segment) -> Iterator[None]:
        with self._changed:
            self._ensure_threads()
            self._segments.add(segment)
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._segments.discard(segment)

    def _ensure_threads(self) -> None:
        if self._pid != os.getpid():
            # A forked child has the set of its parent but not the threads.
            self._segments, self._threads = set(), []
            self._pid = os.getpid()
        if not all(thread.is_alive() for thread in self._threads) or not self._threads:
            self._threads = [
                threading.Thread(target=work, name=name, daemon=True)
                for name, work in (
                    ("leases", self._watch_store),
                    ("lease-clock", self._watch_clock),
                )
            ]
            for thread in self._threads:
                thread.start()

    # --- The store --------------------------------------------------------------------

    def _watch_store(self) -> None:
        while True:
            self._wait_for_segments(self._rest)
            # First: a lease that was taken or seen just now is held.
            time.sleep(self.tick_seconds)
            try:
                self._look()
            except DatabaseError:
                logger.warning("store away: leases not renewed, trying again")
                connections.close_all()
            except Exception:
                logger.exception("leases not looked after, trying again")

    def _rest(self) -> None:
        connections.close_all()
        self.idle.set()

    def _look(self) -> None:
        self.idle.clear()
        if segments := self._watched():
            self._look_after(segments)
        if time.monotonic() - self._beaten_at >= workers.BEAT_SECONDS:
            workers.beat()
            self._beaten_at = time.monotonic()

    def _look_after(self, segments: list[Segment]) -> None:
        held = lifecycle.still_held([segment.lease for segment in segments])
        for segment in segments:
            if segment.lease.owner not in held:
                segment.end(Ending.GONE)
            elif time.monotonic() - segment.renewed_at >= RENEW_SECONDS:
                self._renew(segment)

    def _renew(self, segment: Segment) -> None:
        if lifecycle.renew(segment.lease, now=clock.database_now()):
            segment.renewed_at = time.monotonic()
        else:
            segment.end(Ending.GONE)

    # --- The clock --------------------------------------------------------------------

    def _watch_clock(self) -> None:
        while True:
            self._wait_for_segments(_nothing)
            for segment in self._watched():
                if segment.is_overdue:
                    segment.end(Ending.GONE)
                elif stopping.grace_is_over():
                    segment.end(Ending.STOPPING)
            time.sleep(self.tick_seconds)

    # --- Both -------------------------------------------------------------------------

    def _wait_for_segments(self, rest: Callable[[], None]) -> None:
        """Rest while there are none. Those that come and go meanwhile wake nobody."""
        with self._changed:
            if not self._segments:
                rest()
                self._changed.wait_for(lambda: self._segments)

    def _watched(self) -> list[Segment]:
        with self._changed:
            return list(self._segments)


def _nothing() -> None:
    pass


supervisor = Supervisor()
