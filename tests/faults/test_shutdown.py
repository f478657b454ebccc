"""Workers that are told to stop while runs go on (W3, W6)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from a2a_project import launch
from tests import peer as peers
from tests import processes

if TYPE_CHECKING:
    from tests.drill.stand import Stand

pytestmark = [
    pytest.mark.faults,
    pytest.mark.services,
    pytest.mark.timeout(240),
]

SIGTERM = 15
GRACE_SECONDS = 30.0
PREFORK = launch.celery_worker(pool="prefork", concurrency=1)


def test_a_run_that_ends_within_the_grace_is_stored(drill: Stand) -> None:
    """W6: the worker takes nothing new, and goes when it is done."""
    worker = drill.site.start_celery_worker(concurrency=1)
    peer = drill.peer()
    task_id = peer.start("short", skill="writing")
    visit = drill.gate.wait_for("short")

    worker.signal(SIGTERM)
    worker.wait_for_line("Warm shutdown")
    left_behind = peer.start("left behind", skill="read_only")
    visit.open()

    assert worker.wait() == 0
    assert peers.text_of(peer.task(task_id)) == "short is done"
    assert peer.state(left_behind) == "SUBMITTED"
    assert drill.site.live_workers() == 0


def test_runs_that_do_not_end_in_time_go_on_elsewhere(drill: Stand) -> None:
    """W3, W6: released by each kind of worker, which is not a failed try (R2)."""
    peer = drill.peer()
    drill.pretend_a_worker()
    drill.gate.open("prefork/1")
    workers = []
    for kind, (skill, stop, argv) in {
        "threads": ("idempotent", "threads", launch.celery_worker(concurrency=1)),
        "prefork": ("stepwise", "prefork/2", PREFORK),
        "sweep": ("read_only", "sweep", launch.sweep()),
    }.items():
        peer.start(kind, skill=skill)
        workers.append(drill.site.start(kind, argv))
        # One after the other: who came before is busy, and this run is the new one's.
        drill.gate.wait_for(stop)

    for worker in workers:
        worker.signal(SIGTERM)
    codes = [worker.wait(seconds=GRACE_SECONDS + 20) for worker in workers]
    released = drill.site.rows("SELECT state, requeues FROM agent_runs_agentrun")
    drill.gate.open_for_all()
    drill.site.start_celery_worker()
    processes.wait_until(lambda: _count_completed(drill) == 3, what="all runs")

    assert codes == [0, 0, 0]
    assert released == [("queued", 0)] * 3
    assert Counter(drill.gate.names) == Counter(
        {"threads": 2, "prefork/1": 1, "prefork/2": 2, "prefork/3": 1, "sweep": 2}
    )


def _count_completed(drill: Stand) -> int:
    return drill.count("agent_runs_agentrun WHERE state = 'completed'")
