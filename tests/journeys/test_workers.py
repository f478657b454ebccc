"""Whether anybody is there to do the work (S40, W1, W2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests import peer as peers

if TYPE_CHECKING:
    from tests.drill.stand import Stand

pytestmark = pytest.mark.services

STORED = (
    "agent_runs_agentrun",
    "a2a_server_task",
    "a2a_server_taskmessage",
    "a2a_server_taskevent",
)


@pytest.fixture(autouse=True)
def _nobody_is_there(quiet: Stand) -> None:
    quiet.site.rows("DELETE FROM agent_runs_workerheartbeat")


def _is_taken(drill: Stand) -> bool:
    answer = drill.peer().send("hello", skill="read_only")
    if answer.status == 200:
        return peers.state_of(peers.task_of(answer)) == "SUBMITTED"
    assert answer.reasons == ["WORKER_UNAVAILABLE"]
    return False


@pytest.mark.parametrize("wait", [True, False], ids=["blocking", "immediate"])
def test_without_a_worker_nothing_is_stored(quiet: Stand, wait: bool) -> None:
    """S40."""
    before = {table: quiet.count(table) for table in STORED}

    answer = quiet.peer().send("hello", skill="read_only", wait=wait)

    assert (answer.status, answer.error["code"]) == (503, -32603)
    assert answer.headers["retry-after"] == "30"
    assert answer.reasons == ["WORKER_UNAVAILABLE"]
    assert {table: quiet.count(table) for table in STORED} == before
    assert quiet.waiting_slots() == 0


@pytest.mark.parametrize(
    ("seen_ago", "is_there"),
    [
        pytest.param(110, True, id="within two minutes"),
        pytest.param(121, False, id="died two minutes ago"),
        pytest.param(-3600, False, id="seen in the future"),
    ],
)
def test_a_worker_counts_for_two_minutes(
    quiet: Stand, seen_ago: float, is_there: bool
) -> None:
    """W2."""
    quiet.pretend_a_worker(seen_ago=seen_ago)

    assert _is_taken(quiet) is is_there


def test_one_tick_of_the_sweep_counts_as_a_worker(quiet: Stand) -> None:
    """W1, W2: also for an installation whose only worker is cron."""
    quiet.site.manage("agent_work", "--limit", "0")

    assert _is_taken(quiet)


def test_a_loop_that_was_stopped_counts_no_more(quiet: Stand) -> None:
    """W1."""
    sweep = quiet.site.start_sweep("--limit", "0")
    before = _is_taken(quiet)

    code = sweep.stop()

    assert (before, code) == (True, 0)
    assert not _is_taken(quiet)
