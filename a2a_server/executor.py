"""The threads in which A2A requests use the database.

Few threads with connections of their own that stay open: as many connections as threads
in every web process, whatever the number of requests. A connection is looked after between
two calls.

Nobody waits for a thread for ever: a database that hangs keeps its threads, but not the
requests. A call that has not begun when its caller gives up never begins.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from django.db import connections

from a2a_server import conf
from agent_runs.store import look_after_connection

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

logger = logging.getLogger(__name__)

CLOSING_SECONDS = 5
# Above what the database itself lets a statement wait for a lock: SQLite's 20 s.
CALL_SECONDS = 25.0

P = ParamSpec("P")
T = TypeVar("T")


class OverdueError(Exception):
    """A call was not done in time. It may still go on in its thread."""


class Threads:
    """A pool that is made when it is first needed, and again after `close`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._size = 0

    async def run(
        self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """`start` and `outcome_of` in one. Raise OverdueError."""
        return await outcome_of(
            self.start(functools.partial(function, *args, **kwargs))
        )

    def start(self, function: Callable[[], T]) -> Future[T]:
        """Call the function in a thread, with the context of this coroutine."""
        context = contextvars.copy_context()
        return self._ready().submit(context.run, _with_fresh_connection, function)

    def submit(self, function: Callable[[], None]) -> None:
        """Call the function in a thread and wait for nothing."""
        self._ready().submit(_with_fresh_connection, function)

    def close(self) -> None:
        """Close every thread's connections and end the threads."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is None:
            return
        # A connection can only be closed by its own thread; the barrier keeps a thread
        # from taking two of the calls.
        barrier = threading.Barrier(self._size)
        for _ in range(self._size):
            pool.submit(_close_connections, barrier)
        pool.shutdown(wait=True)

    def _ready(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._size = conf.threads()
                self._pool = ThreadPoolExecutor(self._size, thread_name_prefix="a2a")
            return self._pool


async def outcome_of(call: Future[T], *, seconds: float = CALL_SECONDS) -> T:
    """What a call returns or raises. Raise OverdueError where it takes too long."""
    try:
        async with asyncio.timeout(seconds) as bound:
            # Whoever stops waiting cancels the call, if it has not begun.
            return await asyncio.wrap_future(call)
    except TimeoutError:
        if bound.expired():
            raise OverdueError from None
        raise


def _with_fresh_connection(function: Callable[[], T]) -> T:
    look_after_connection()
    return function()


def _close_connections(barrier: threading.Barrier) -> None:
    try:
        barrier.wait(CLOSING_SECONDS)
    except threading.BrokenBarrierError:
        logger.warning("A thread was busy while the process ended")
    connections.close_all()


threads = Threads()
run = threads.run
start = threads.start
submit = threads.submit
close = threads.close
