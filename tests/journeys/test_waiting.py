"""Many requests that wait, and one that is given up (S44–S46, B055)."""

from __future__ import annotations

import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import peer as peers
from tests import processes
from tests.drill.stand import Stand, stand

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.peer import Peer
    from tests.processes import Process

pytestmark = [pytest.mark.services, pytest.mark.timeout(180)]

# The setting's default: as many as may wait in the whole installation.
WAITING = 200
THREADS = 4
CLIENTS = ("crowd", "leaver")


@pytest.fixture(scope="module")
def patient(
    tmp_path_factory: pytest.TempPathFactory, postgresql: str, redis_url: str
) -> Iterator[Stand]:
    directory = tmp_path_factory.mktemp("patient")
    with stand(
        directory,
        database=postgresql,
        redis_url=redis_url,
        A2A_SERVER_BLOCKING_WAIT_SECONDS="100",
        A2A_SERVER_THREADS=str(THREADS),
    ) as made:
        made.site.start_web()
        made.make_records(
            {"skill": {"handler": "drill.read_only"}},
            {"crowd": {"task_limit": 2 * WAITING}, "leaver": {}},
        )
        made.pretend_a_worker()
        yield made


def _threads(web: Process) -> int:
    status = Path(f"/proc/{web.pid}/status").read_text(encoding="ascii")
    found = re.search(r"^Threads:\s*(\d+)$", status, re.MULTILINE)
    assert found
    return int(found[1])


def _footprint(drill: Stand) -> tuple[int, int]:
    """Threads of the web process, and connections to the database."""
    (web,) = (p for p in drill.site.processes if p.name.startswith("web"))
    open_connections = drill.count(
        "pg_stat_activity WHERE datname = current_database()"
    )
    return _threads(web), open_connections


def _wait_for_waiting(drill: Stand, number: int) -> None:
    processes.wait_until(
        lambda: drill.waiting_slots() == number, what=f"{number} waiting requests"
    )


def test_two_hundred_wait_without_a_thread_or_a_connection(patient: Stand) -> None:
    """S46: and everything else goes on meanwhile."""
    crowd = patient.peer("crowd")
    task_ids = peers.at_once([lambda: crowd.start("warm")] * 16)
    before = _largest_footprint(patient)

    with ThreadPoolExecutor(WAITING) as threads:
        sends = [
            threads.submit(crowd.send, f"message {number}", wait=True)
            for number in range(WAITING)
        ]
        _wait_for_waiting(patient, WAITING)
        during = _footprint(patient)
        latencies = [_time_to_read(crowd, task_id) for task_id in task_ids]
        stored = patient.count("a2a_server_task")
        refused = crowd.send("one more", wait=True)
        immediate = crowd.send("immediate")
        stored_then = patient.count("a2a_server_task")
        patient.gate.open_for_all()
        patient.site.start_celery_worker(concurrency=8)
        answers = [send.result() for send in sends]

    # The connection that counts is one of them.
    assert during == before
    assert max(latencies) < 2.0
    assert (refused.status, refused.reasons) == (503, ["WAITING_CAPACITY_EXHAUSTED"])
    assert (immediate.status, stored_then) == (200, stored + 1)
    states = {peers.state_of(peers.task_of(answer)) for answer in answers}
    assert states == {"COMPLETED"}
    assert patient.waiting_slots() == 0


def _largest_footprint(patient: Stand) -> tuple[int, int]:
    """When everything that grows with use has grown.

    One client alone never occupies all threads.
    """
    reads = [partial(patient.peer(name).call, "ListTasks", {}) for name in CLIENTS]

    def has_all_threads() -> bool:
        peers.at_once(reads * 8)
        return _footprint(patient)[1] > THREADS

    processes.wait_until(has_all_threads, what="every thread's connection")
    return _footprint(patient)


def _time_to_read(peer: Peer, task_id: str) -> float:
    began = time.monotonic()
    peer.task(task_id)
    return time.monotonic() - began


def test_who_hangs_up_frees_its_slot_and_the_task_goes_on(drill: Stand) -> None:
    """S46, B055."""
    drill.site.start_celery_worker()
    peer = drill.peer()
    params = peers.send_params("left alone", wait=True, skill="read_only")
    with socket.create_connection(peer.address) as connection:
        connection.sendall(peer.raw("SendMessage", params))
        visit = drill.gate.wait_for("left alone")
        _wait_for_waiting(drill, 1)

    _wait_for_waiting(drill, 0)
    (task,) = peers.result_of(peer.call("ListTasks", {}))["tasks"]
    before = peers.state_of(task)
    visit.open()

    assert before == "WORKING"
    assert peers.text_of(peer.wait_until_ended(task["id"])) == "left alone is done"
