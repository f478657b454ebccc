"""Two who lock the same rows, each with a connection of its own (PostgreSQL)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from django.db import connection, connections

from tests.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_WAITS_FOR_US = (
    "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted "
    "AND pg_backend_pid() = ANY (pg_blocking_pids(pid)))"
)


def with_own_connection(function: Callable[[], T]) -> T:
    """For a thread: what it opened is closed."""
    try:
        return function()
    finally:
        connections.close_all()


def wait_for_who_waits_for_us() -> None:
    """Until somebody wants a row that this thread's transaction holds."""
    wait_until(_somebody_waits, what="somebody who waits for our lock")


def _somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_WAITS_FOR_US)
        (waits,) = cursor.fetchone()
    return bool(waits)


def look_for_deadlocks_after(duration: str) -> None:
    """For this thread's transaction, else its session.

    The server looks once in every wait, and ends the one that looked and found.
    """
    parameters = [duration, connection.in_atomic_block]
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('deadlock_timeout', %s, %s)", parameters)
