"""What operators do to an installation that lives (W4, R17, R18)."""

from __future__ import annotations

import base64
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from tests import peer as peers

if TYPE_CHECKING:
    from tests.drill.stand import Stand

pytestmark = pytest.mark.services


def _status(drill: Stand, *options: str) -> tuple[int, dict[str, Any]]:
    done = drill.site.manage("agent_status", "--json", *options, check=False)
    return done.returncode, json.loads(done.stdout)


def test_the_status_follows_what_happens(drill: Stand) -> None:
    """W4: nobody there; a worker with a run; its lease run out for too long."""
    nobody_there = _status(drill)
    worker = drill.site.start_celery_worker(concurrency=1)
    peer = drill.peer()
    peer.start("running", skill="read_only")
    drill.gate.wait_for("running")
    peer.start("queued", skill="read_only")
    at_work = _status(drill)
    worker.kill()
    drill.site.rows(
        "UPDATE agent_runs_agentrun SET lease_expires_at = "
        "now() - interval '61 seconds' WHERE lease_expires_at IS NOT NULL"
    )
    after_its_death = _status(drill)

    assert (nobody_there[0], nobody_there[1]["live_workers"]) == (1, 0)
    assert at_work[0] == 0
    assert (at_work[1]["running"], at_work[1]["queued"]) == (1, 1)
    assert at_work[1]["live_workers_by_transport"]["celery"] == 1
    assert (after_its_death[0], after_its_death[1]["expired_leases"]) == (1, 1)
    assert drill.site.manage("agent_status", "--nonsense", check=False).returncode == 2


def test_a_purge_leaves_what_goes_on(drill: Stand) -> None:
    """R18: and counts what it would take before it takes it."""
    drill.site.start_celery_worker()
    peer = drill.peer()
    drill.gate.open("ended")
    ended = peers.task_of(peer.send("ended", skill="read_only", wait=True))["id"]
    running = peer.start("running", skill="read_only")
    drill.gate.wait_for("running")

    rehearsed = _purge(drill, "--dry-run")
    after_the_rehearsal = peer.state(ended)
    purged = _purge(drill)

    assert after_the_rehearsal == "COMPLETED"
    assert (rehearsed["runs"], rehearsed["tasks"]) == (1, 1)
    assert (purged["runs"], purged["tasks"]) == (1, 1)
    assert peer.call("GetTask", {"id": ended}).error["code"] == -32001
    assert peer.state(running) == "WORKING"
    listed = peers.result_of(peer.call("ListTasks", {}))
    assert (len(listed["tasks"]), listed["totalSize"]) == (1, 1)


def _purge(drill: Stand, *options: str) -> dict[str, int]:
    options = ("--days", "0", "--client", "client", "--json", *options)
    counts: dict[str, int] = json.loads(
        drill.site.manage("agent_purge", *options).stdout
    )["deleted"]
    return counts


def test_keys_are_rotated_while_everything_goes_on(drill: Stand) -> None:
    """R17: both keys, rotate, then the new one alone; nothing becomes unreadable."""
    old = drill.site.environment["A2A_ENCRYPTION_KEYS"]
    new = base64.urlsafe_b64encode(os.urandom(32)).decode()
    peer = drill.peer()
    drill.pretend_a_worker()
    drill.gate.open_for_all()
    ended = peer.start("ended", skill="read_only")
    drill.site.manage("agent_work")
    queued = peer.start("queued", skill="read_only")
    before = [peer.task(ended), peer.task(queued)]

    _use_keys(drill, f"{new} {old}")
    with_both = [peer.task(ended), peer.task(queued)]
    rotated = json.loads(drill.site.manage("agent_rotate_keys", "--json").stdout)
    _use_keys(drill, new)
    with_new = [peer.task(ended), peer.task(queued)]
    drill.site.manage("agent_work")

    assert with_both == with_new == before
    columns = {c["column"]: c["rotated"] for c in rotated["columns"] if c["rotated"]}
    assert rotated["unreadable"] == 0
    assert {"a2a_server_task.head", "agent_runs_agentrun.request"} <= set(columns)
    assert peers.text_of(peer.task(queued)) == "queued is done"


def _use_keys(drill: Stand, keys: str) -> None:
    """As an operator changes a setting: in the environment, and then a restart."""
    drill.site.environment["A2A_ENCRYPTION_KEYS"] = keys
    drill.site.processes[-1].stop()
    drill.site.start_web()
