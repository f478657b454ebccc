"""One tick of the sweep: beat, periodic jobs, due runs (W3).

The sweep is the embedded worker, and the net below every other one: it needs no broker.
Two sweeps at once do no harm, since jobs and runs are claimed by compare-and-set.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from agent_runs import clock, engine, periodic, queue, stopping, workers


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    jobs: int
    runs: int


def run_tick(*, limit: int, max_seconds: float) -> Tick:
    """Raise Django's database errors; a run's outcome is never an error here."""
    started = time.monotonic()
    workers.beat()
    jobs = periodic.run_due_jobs()
    runs = 0
    while runs < limit and time.monotonic() - started < max_seconds:
        if stopping.is_stopping() or not _run_next():
            break
        runs += 1
    return Tick(jobs=jobs, runs=runs)


def _run_next() -> bool:
    """Run the oldest due run; those that somebody else takes meanwhile are passed over."""
    for run_id in queue.due_runs(limit=10, now=clock.database_now()):
        if engine.execute(run_id):
            return True
    return False
