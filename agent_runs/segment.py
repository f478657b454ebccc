"""One uninterrupted execution of a run, as seen by the code that does the work.

A segment owns the lease and everything that is stored while it lasts. It learns from the
supervisor that it should end; the working code meets that at `check()` and at every
`checkpoint()`, and a model call under way is interrupted.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import contextmanager
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from django.db import connection

from agent_runs import clock, lifecycle
from agent_runs.encryption import field_of
from agent_runs.models import AgentRun
from agent_runs.store import STORE_AWAY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_runs.events import NewEvent
    from agent_runs.lifecycle import Lease

logger = logging.getLogger(__name__)

T = TypeVar("T")

_RETRY_SECONDS = 0.5


class Ending(Enum):
    """Why a segment should stop before its work is done."""

    GONE = "gone"
    """Canceled, reaped or taken over: the row is somebody else's."""
    STOPPING = "stopping"
    """The worker stops and its grace is over."""


class SegmentEnded(Exception):  # noqa: N818 -- a way out, not a failure
    def __init__(self, ending: Ending) -> None:
        super().__init__(ending.value)
        self.ending = ending


class Segment:
    def __init__(self, run: AgentRun, lease: Lease) -> None:
        self.run = run
        self.lease = lease
        self.level = run.current_level
        self.renewed_at = time.monotonic()
        self._ending: Ending | None = None
        self._interrupt: Callable[[], None] | None = None
        self._lock = threading.Lock()

    def end(self, ending: Ending) -> None:
        """Called by the supervisor; the first reason stays."""
        with self._lock:
            self._ending = self._ending or ending
            # Within the lock: what is interrupted cannot have left its wait meanwhile.
            if self._interrupt:
                self._interrupt()

    @contextmanager
    def interruptible(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Within, `end` also calls `interrupt`, from another thread; it must not block."""
        with self._lock:
            self._interrupt = interrupt
            is_late = self._ending is not None
        try:
            if is_late:
                interrupt()
            yield
        finally:
            with self._lock:
                self._interrupt = None

    @property
    def ending(self) -> Ending | None:
        return self._ending

    @property
    def is_overdue(self) -> bool:
        """By this process's clock, whatever the store would say."""
        return time.monotonic() >= self.lease.runs_out_at

    def check(self, *, stopping_counts: bool = True) -> None:
        """Raise `SegmentEnded` when the work should end here."""
        if self.is_overdue:
            self.end(Ending.GONE)
        ending = self._ending
        if ending is Ending.STOPPING and not stopping_counts:
            return
        if ending is not None:
            raise SegmentEnded(ending)

    def store(self, *, event: NewEvent | None = None, **columns: Any) -> None:
        """Store columns, count and event in the transaction that renews the lease (R8).

        Raises `SegmentEnded` when the lease is lost, and then nothing is stored.
        """
        if not self.persist(partial(self._renew, event, columns)):
            self.end(Ending.GONE)
            raise SegmentEnded(Ending.GONE)
        self.renewed_at = time.monotonic()

    def _renew(self, event: NewEvent | None, columns: dict[str, Any]) -> bool:
        now = clock.database_now()
        return lifecycle.renew(self.lease, now=now, new_event=event, **columns)

    def persist(self, act: Callable[[], T]) -> T:
        """Repeat `act` as long as the store is away and the lease lasts (R9).

        For compare-and-set only: a commit whose answer was lost is made again. Raises
        what the store raised last.
        """
        while True:
            try:
                return act()
            except STORE_AWAY:
                # A caller's transaction is broken by now; only the caller can repeat it.
                if connection.in_atomic_block or not self._may_try_again():
                    raise
                logger.warning("store away: trying again", extra=self._facts())
                connection.close()
                time.sleep(_RETRY_SECONDS)

    def _may_try_again(self) -> bool:
        return self._ending is None and not self.is_overdue

    def _facts(self) -> dict[str, str]:
        return {"run": str(self.run.id)}

    def store_checkpoint(
        self, text: str, *, event: NewEvent | None = None, **columns: Any
    ) -> None:
        sealed = field_of(AgentRun, "checkpoint").seal(self.run.id, text)
        self.run.checkpoint = text
        self.store(event=event, checkpoint=sealed, pending=None, **columns)
        self.run.pending = None

    def mark_effects(self) -> None:
        """From now on this run never starts over (R11)."""
        if not self.run.has_effects:
            self.run.has_effects = True
            self.store(has_effects=True)
