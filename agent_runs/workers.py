"""Which processes execute runs, as far as their heartbeats tell (W1, W2)."""

from __future__ import annotations

import logging
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from agent_runs import clock
from agent_runs.models import WorkerHeartbeat
from agent_runs.models.worker import Transport
from agent_runs.statements import Select, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.db.models import QuerySet

logger = logging.getLogger(__name__)

BEAT_SECONDS = 15.0
SEEN_WITHIN = timedelta(seconds=120)
_PRUNE_AFTER = timedelta(hours=24)
# A beat may be stored between the moment that is asked about and the look; a row that is
# further ahead comes from a broken clock.
_TOLERANCE = timedelta(seconds=2)

# Made at import, before any fork: the children of one worker beat for one row.
WORKER_ID = secrets.token_hex(16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """How this process announces itself."""

    transport: Transport
    queues: tuple[str, ...]
    version: str
    concurrency: int = 1


_identity: Identity | None = None


def announce(identity: Identity) -> None:
    """From now on this process, and what it forks, is a worker."""
    global _identity
    _identity = identity
    beat()


def beat() -> None:
    """Say «alive»; a process that never announced itself says nothing."""
    if _identity is None:
        return
    now = clock.database_now()
    row = WorkerHeartbeat(
        worker_id=WORKER_ID,
        transport=_identity.transport,
        queues=", ".join(_identity.queues),
        last_seen_at=now,
        started_at=now,
        version=_identity.version,
        concurrency=_identity.concurrency,
    )
    WorkerHeartbeat.objects.bulk_create(
        [row],
        update_conflicts=True,
        unique_fields=["worker_id"],
        update_fields=["last_seen_at", "transport", "queues", "version", "concurrency"],
    )


def withdraw() -> None:
    """Take this process's row away; it stops in good order."""
    global _identity
    _identity = None
    WorkerHeartbeat.objects.filter(worker_id=WORKER_ID).delete()


def live_workers(
    now: datetime,
    *,
    max_age: timedelta = SEEN_WITHIN,
    transports: Sequence[Transport] = tuple(Transport),
) -> QuerySet[WorkerHeartbeat]:
    """Workers seen within `max_age`; a row from the future is not believed."""
    return _seen(now - max_age, now + _TOLERANCE, transports)


def _seen(
    earliest: Any, latest: Any, transports: Sequence[Transport] = tuple(Transport)
) -> QuerySet[WorkerHeartbeat]:
    return WorkerHeartbeat.objects.filter(
        transport__in=transports, last_seen_at__gte=earliest, last_seen_at__lte=latest
    )


_ANY_LIVE: Final = Select(
    lambda: _seen(
        value(WorkerHeartbeat, "last_seen_at", "earliest"),
        value(WorkerHeartbeat, "last_seen_at", "latest"),
    ).values_list("worker_id", flat=True)[:1]
)


def is_worker_available(now: datetime) -> bool:
    return bool(_ANY_LIVE.all(earliest=now - SEEN_WITHIN, latest=now + _TOLERANCE))


def prune() -> None:
    now = clock.database_now()
    WorkerHeartbeat.objects.filter(last_seen_at__lt=now - _PRUNE_AFTER).delete()
