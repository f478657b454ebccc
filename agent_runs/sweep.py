"""One tick of the sweep: beat, periodic jobs, due runs (W3).

The sweep is the embedded worker, and the net below every other one: it needs no broker.
Two sweeps at once do no harm, since jobs and runs are claimed by compare-and-set.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_runs import clock, engine, periodic, queue, stopping, workers
from agent_runs.store import STORE_AWAY

if TYPE_CHECKING:
    from uuid import UUID

logger = logging.getLogger(__name__)

_LOOK_AHEAD = 10


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
    passed_over: set[UUID] = set()
    while runs < limit and time.monotonic() - started < max_seconds:
        if stopping.is_stopping() or not _run_next(passed_over):
            break
        runs += 1
    return Tick(jobs=jobs, runs=runs)


def _run_next(passed_over: set[UUID]) -> bool:
    """Run the oldest due run.

    What somebody else takes meanwhile is passed over, and so is, for this tick, a run
    whose row cannot be worked with: it must not keep the others waiting.
    """
    limit = _LOOK_AHEAD + len(passed_over)
    for run_id in queue.due_runs(limit=limit, now=clock.database_now()):
        if run_id not in passed_over and _executed(run_id, passed_over):
            return True
    return False


def _executed(run_id: UUID, passed_over: set[UUID]) -> bool:
    try:
        return engine.execute(run_id)
    except STORE_AWAY:
        raise
    except Exception:
        logger.exception("run passed over", extra={"run": str(run_id)})
        passed_over.add(run_id)
        return False
