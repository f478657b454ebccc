"""The one source of moments that several processes compare (R9).

Hosts disagree about the time; the database they share does not. Everything that is stored
or compared across processes comes from `database_now`, in whole milliseconds, since that
is what leaves on the wire and what both databases keep. Durations come from
`time.monotonic` where they are measured.
"""

from __future__ import annotations

from datetime import UTC, datetime

from django.db import connection

_QUERY = {
    # transaction_timestamp() would stand still during a transaction that waits for a lock.
    "postgresql": "SELECT clock_timestamp()",
    "sqlite": "SELECT strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')",
}


def database_now() -> datetime:
    """Ask the database for the time: aware, UTC, whole milliseconds."""
    with connection.cursor() as cursor:
        cursor.execute(_QUERY[connection.vendor])
        return to_milliseconds(cursor.fetchone()[0])


def to_milliseconds(moment: datetime | str) -> datetime:
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    moment = moment.astimezone(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
