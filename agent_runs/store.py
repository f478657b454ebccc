"""The connection below the ORM: what failures mean, and what must not be left on it."""

from __future__ import annotations

import logging
import select

from django.db import (
    DEFAULT_DB_ALIAS,
    InterfaceError,
    OperationalError,
    close_old_connections,
    connection,
    connections,
)

logger = logging.getLogger(__name__)

# The database is away, and may be back; other errors are mistakes of whoever asked.
STORE_AWAY = (OperationalError, InterfaceError)


# PostgreSQL's classes of a transaction that another one was in the way of.
_CONFLICTS = frozenset({"40001", "40P01"})


def is_conflict(error: OperationalError) -> bool:
    """Whether the same transaction, tried again, would find nothing in its way."""
    return getattr(error.__cause__, "sqlstate", None) in _CONFLICTS


def let_statements_take_long(*, using: str = DEFAULT_DB_ALIAS, **_: object) -> None:
    """For the rest of this session: a migration of a large table takes its time."""
    if connections[using].vendor == "postgresql":
        with connections[using].cursor() as cursor:
            cursor.execute("SET statement_timeout = 0")


def look_after_connection() -> None:
    """Between two pieces of work, as Django does it between two requests.

    Django would ask the server whether the connection lives. A server that ended it has
    said so already: only where there is something to read is it asked.
    """
    close_old_connections()
    if connection.vendor == "postgresql" and _is_silent():
        # What Django's own check sets; its type stubs leave it out.
        connection.health_check_done = True  # type: ignore[attr-defined]


def _is_silent() -> bool:
    raw = connection.connection
    if raw is None or raw.closed:
        return False
    poll = select.poll()
    poll.register(raw.pgconn.socket, select.POLLIN)
    return not poll.poll(0)


def leave_no_transaction() -> None:
    """Drop the thread's connection if somebody's code left a transaction open on it.

    What follows would be stored inside that transaction, or never.
    """
    if connection.connection is None:
        return
    if connection.in_atomic_block or not connection.get_autocommit() or _is_open():
        logger.error("a transaction was left open; its connection is dropped")
        connection.in_atomic_block = False
        connection.close()


def _is_open() -> bool:
    """Whether the driver is in a transaction that Django knows nothing of."""
    raw = connection.connection
    if connection.vendor == "postgresql":
        return bool(raw.info.transaction_status != raw.info.transaction_status.IDLE)
    return bool(raw.in_transaction)
