"""PostgreSQL drops connections, or is away for a while (R9, S92, B137)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests import peer as peers
from tests import processes
from tests.faults.store_server import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.drill.stand import Stand

pytestmark = [
    pytest.mark.faults,
    pytest.mark.services,
    pytest.mark.timeout(240),
]


@pytest.fixture
def store(drill: Stand) -> Iterator[Store]:
    made = Store(drill.site.database_url)
    yield made
    made.close()


def test_nobody_notices_that_idle_connections_were_cut(
    drill: Stand, store: Store
) -> None:
    """Every thread of web and workers has one that it keeps."""
    drill.gate.open_for_all()
    drill.start_all_workers()
    sweep = drill.site.start_sweep()
    peer = drill.peer()
    peers.at_once([lambda: peer.send("warm", wait=True, skill="read_only")] * 8)

    cut = store.cut_connections()
    answers = peers.at_once(
        [lambda: peer.send("after", wait=True, skill="read_only")] * 8
    )

    assert cut >= 4
    states = [peers.state_of(peers.task_of(answer)) for answer in answers]
    assert states == ["COMPLETED"] * 8
    assert sweep.popen.poll() is None


def test_a_run_survives_that_its_connections_were_cut(
    drill: Stand, store: Store
) -> None:
    """R9: the supervisor asks again, and so does the next checkpoint."""
    worker = drill.site.start_celery_worker()
    peer = drill.peer()
    task_id = peer.start("cut", skill="stepwise")
    first = drill.gate.wait_for("cut/1")
    # The supervisor looks at its runs once a second, and has a connection from then on.
    look = 'SELECT "agent_runs_agentrun"."lease_owner"'
    processes.wait_until(lambda: store.was_asked(look), what="a look at the leases")

    store.cut_connections()
    worker.wait_for_line("leases not renewed")
    drill.gate.open_for_all()
    first.wait_until_left()

    assert peers.state_of(peer.wait_until_ended(task_id)) == "COMPLETED"
    assert drill.gate.names == ["cut/1", "cut/2", "cut/3"]


def test_requests_are_told_and_go_on_waiting_while_the_store_is_away(
    drill: Stand, store: Store
) -> None:
    """S92: not a failed authentication, and nothing of the driver's words."""
    worker = drill.site.start_celery_worker()
    peer = drill.peer()
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(peer.send, "held", wait=True, skill="read_only")
        drill.gate.wait_for("held")
        store.go_away()
        # More of them than there may be failed authentications.
        refused = [peer.call("ListTasks", {}) for _ in range(12)]
        worker.wait_for_line("leases not renewed")
        store.come_back()
        drill.gate.open_for_all()
        answer = waiting.result()

    assert {(a.status, tuple(a.reasons)) for a in refused} == {
        (503, ("STORE_UNAVAILABLE",))
    }
    assert refused[0].headers["retry-after"] == "5"
    assert store.name.encode() not in refused[0].body
    assert peers.text_of(peers.task_of(answer)) == "held is done"
    assert drill.gate.names == ["held"]
    nobody = peers.Peer(peer.base_url, "a2a_nobody")
    with nobody:
        assert nobody.call("ListTasks", {}).status == 401


def test_an_outcome_is_stored_as_soon_as_the_store_is_back(
    drill: Stand, store: Store
) -> None:
    """R9, R12: what has been written is not forgotten while the lease lasts."""
    worker = drill.site.start_celery_worker()
    peer = drill.peer()
    task_id = peer.start("unlucky", skill="writing")
    visit = drill.gate.wait_for("unlucky")

    store.go_away()
    visit.open()
    worker.wait_for_line("store away: trying again")
    store.come_back()

    assert peers.text_of(peer.wait_until_ended(task_id)) == "unlucky is done"
    assert drill.gate.names == ["unlucky"]


# --- Locks ----------------------------------------------------------------------------


def test_a_locked_row_keeps_no_other_run_from_its_rescue(drill: Stand) -> None:
    """R11: as a worker leaves it that was stopped in the middle of a transaction."""
    worker = drill.site.start_celery_worker()
    peer = drill.peer()
    task_ids = {name: peer.start(name, skill="read_only") for name in ("one", "two")}
    for name in task_ids:
        drill.gate.wait_for(name)
    worker.kill()
    drill.expire_leases()
    drill.gate.open_for_all()

    with psycopg.connect(drill.site.database_url) as session:
        (run_id,) = drill.run_of(task_ids["one"], "id")
        session.execute(
            "SELECT 1 FROM agent_runs_agentrun WHERE id = %s FOR UPDATE", [run_id]
        )
        drill.start_all_workers()
        rescued = peer.wait_until_ended(task_ids["two"])
        meanwhile = peer.state(task_ids["one"])

    assert (peers.state_of(rescued), meanwhile) == ("COMPLETED", "WORKING")
    assert peers.state_of(peer.wait_until_ended(task_ids["one"])) == "COMPLETED"


def test_no_session_holds_its_locks_for_ever(drill: Stand) -> None:
    """What the server of the database is told by every process."""
    code = (
        "from django.db import connection; cursor = connection.cursor(); "
        "cursor.execute('SELECT current_setting(%s), current_setting(%s)', "
        "['idle_in_transaction_session_timeout', 'lock_timeout']); "
        "print(*cursor.fetchone())"
    )

    shown = drill.site.manage("shell", "--no-imports", "-c", code).stdout

    assert shown.split() == ["1min", "10s"]
