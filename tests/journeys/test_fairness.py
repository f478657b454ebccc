"""Nobody waits behind somebody else's long work (W3, W6, B136)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from a2a_project import launch
from tests import peer as peers

if TYPE_CHECKING:
    from tests.drill.stand import Stand

pytestmark = pytest.mark.services

SHORT = [f"short-{number}" for number in range(10)]


def test_short_runs_do_not_queue_behind_a_long_one(drill: Stand) -> None:
    """B136: two workers of two places each, and none reserves what it cannot begin."""
    for name in ("one", "two"):
        argv = launch.celery_worker(name=name, concurrency=2)
        worker = drill.site.start(name, argv)
        worker.wait_for_line(rf"{name}@.* ready\.")
    peer = drill.peer()
    drill.gate.open(*SHORT)
    long_id = peer.start("long", skill="read_only")
    long = drill.gate.wait_for("long")

    short_ids = [peer.start(name, skill="read_only") for name in SHORT]
    ended = [peer.wait_until_ended(task_id) for task_id in short_ids]

    assert {peers.state_of(task) for task in ended} == {"COMPLETED"}
    assert peer.state(long_id) == "WORKING"
    long.open()
    peer.wait_until_ended(long_id)
