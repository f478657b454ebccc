"""Several workers want the same runs (R2, W3, B129)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from a2a_project import launch
from tests import processes

if TYPE_CHECKING:
    from tests.drill.stand import Stand

pytestmark = [
    pytest.mark.faults,
    pytest.mark.services,
    pytest.mark.timeout(240),
]

RUNS = 60


def test_two_sweeps_and_celery_run_each_run_once(drill: Stand) -> None:
    """W3, R2: the claim decides, whoever else saw the row or the message."""
    peer = drill.peer()
    drill.gate.open_for_all()
    drill.pretend_a_worker()
    names = [f"run-{number}" for number in range(RUNS)]
    for name in names:
        peer.start(name, skill="writing")

    drill.site.start("sweep", launch.sweep())
    drill.site.start("sweep", launch.sweep())
    drill.start_all_workers(concurrency=4)
    processes.wait_until(
        lambda: _states(drill) == {"completed": RUNS}, seconds=60, what="all runs"
    )

    assert Counter(drill.gate.names) == Counter(names)
    assert len({visit.pid for visit in drill.gate.all_visits()}) >= 2


def _states(drill: Stand) -> dict[str, int]:
    return dict(
        drill.site.rows(
            "SELECT state, count(*) FROM agent_runs_agentrun GROUP BY state"
        )
    )
