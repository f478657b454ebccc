"""Runs the registered periodic jobs that are due, whoever comes first (W3).

The sweep and Celery beat call the same function. A job belongs to the process whose
UPDATE moved its `next_at`; a job that raises is logged and comes again at its time.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from agent_runs import clock, queue, registries, workers
from agent_runs.models import PeriodicJobState
from agent_runs.registries import PeriodicJob

logger = logging.getLogger(__name__)


def register_own_jobs() -> None:
    for name, seconds, run in (
        ("reap", 5, queue.reap),
        ("nudge-again", 15, queue.nudge_again),
        ("prune-heartbeats", 3600, workers.prune),
    ):
        registries.register_periodic_job(
            PeriodicJob(name=name, interval=timedelta(seconds=seconds), run=run)
        )


def run_due_jobs() -> int:
    """Run what is due; return how many jobs this process ran."""
    now = clock.database_now()
    next_at = dict(PeriodicJobState.objects.values_list("name", "next_at"))
    ran = 0
    for job in list(registries.periodic_jobs.values()):
        due_at = next_at.get(job.name)
        if (due_at is None or due_at <= now) and _take(job, due_at, now):
            _run(job)
            ran += 1
    return ran


def _take(job: PeriodicJob, due_at: datetime | None, now: datetime) -> bool:
    if due_at is None:
        # The first look at a new job: whoever inserts the row does not matter.
        PeriodicJobState.objects.bulk_create(
            [PeriodicJobState(name=job.name, next_at=now)], ignore_conflicts=True
        )
    taken = PeriodicJobState.objects.filter(name=job.name, next_at__lte=now)
    return bool(taken.update(next_at=now + job.interval))


def _run(job: PeriodicJob) -> None:
    try:
        job.run()
    except Exception:
        logger.exception("periodic job failed", extra={"job": job.name})
