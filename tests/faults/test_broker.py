"""Redis goes away, hangs, comes back (W5, S23, S46, B132).

The row is the state; a lost, late or doubled message does no harm.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from celery import Celery

from tests import peer as peers
from tests import processes

if TYPE_CHECKING:
    from tests.drill.stand import Stand
    from tests.redis_server import RedisServer

pytestmark = [
    pytest.mark.faults,
    pytest.mark.services,
    pytest.mark.timeout(240),
]

# The promised time-outs of everything that a request asks Redis, with room.
QUICKLY = 5.0


@pytest.mark.parametrize("how", ["kill", "pause"])
def test_takes_messages_while_the_broker_is_away(
    drill_with_broker: Stand, broker: RedisServer, how: str
) -> None:
    """W5: dead or hung; the request does not fail for it, and the sweep finds the row."""
    drill, peer = drill_with_broker, drill_with_broker.peer()
    drill.gate.open_for_all()
    drill.site.start_sweep()
    getattr(broker, how)()

    began = time.monotonic()
    task_id = peer.start("immediate", skill="read_only")
    seconds = time.monotonic() - began
    answered = peer.send("waiting", wait=True, skill="read_only")

    assert seconds < QUICKLY
    assert peers.state_of(peers.task_of(answered)) == "COMPLETED"
    assert peers.state_of(peer.wait_until_ended(task_id)) == "COMPLETED"
    if how == "pause":
        broker.resume()


def test_nudges_again_when_the_broker_is_back(
    drill_with_broker: Stand, broker: RedisServer
) -> None:
    """W5, B132: what was not sent is sent by the periodic job; workers reconnect."""
    drill, peer = drill_with_broker, drill_with_broker.peer()
    drill.gate.open_for_all()
    drill.start_all_workers()
    broker.kill()
    task_id = peer.start("forgotten", skill="read_only")

    broker.start()
    _let_a_minute_pass(drill)

    task = peer.wait_until_ended(task_id, seconds=60)
    assert peers.state_of(task) == "COMPLETED"
    assert drill.gate.names == ["forgotten"]


def _let_a_minute_pass(drill: Stand) -> None:
    """Since the last nudge: the periodic job repeats none that is younger."""
    drill.site.rows(
        "UPDATE agent_runs_agentrun SET nudged_at = now() - interval '61 seconds'"
    )


@pytest.mark.parametrize("comes_back", [False, True], ids=["away", "restarted"])
def test_a_waiting_request_is_answered(
    drill_with_broker: Stand, broker: RedisServer, comes_back: bool
) -> None:
    """S44: what was published meanwhile is lost, what was stored is not."""
    drill, peer = drill_with_broker, drill_with_broker.peer()
    worker = drill.site.start_celery_worker()

    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(peer.send, "held", wait=True, skill="read_only")
        visit = drill.gate.wait_for("held")
        broker.kill()
        if comes_back:
            broker.start()
        visit.open()
        # Long before its deadline, at which it would look in any case.
        answer = waiting.result(timeout=10)

        if not comes_back:
            broker.start()

    assert peers.text_of(peers.task_of(answer)) == "held is done"
    # The worker that lost its broker in the middle of a run finds it again.
    worker.wait_for_line("Connection to broker lost")
    processes.wait_until(lambda: worker.output.count("Connected to redis") == 2)
    drill.gate.open_for_all()
    again = peer.send("again", wait=True, skill="read_only")
    assert peers.text_of(peers.task_of(again)) == "again is done"


def test_a_message_that_comes_again_and_again_runs_once(drill: Stand) -> None:
    """W5, B129: the claim decides, before, during and after the run."""
    peer = drill.peer()
    drill.pretend_a_worker()
    task_id = peer.start("repeated", skill="idempotent")
    (run_id,) = drill.run_of(task_id, "id")
    _nudge(drill, run_id, times=3)
    drill.site.start_celery_worker(concurrency=4)
    visit = drill.gate.wait_for("repeated")
    _nudge(drill, run_id, times=3)
    visit.open()
    peer.wait_until_ended(task_id)
    _nudge(drill, run_id, times=3)

    # It comes after the others, and one worker takes them in order.
    drill.gate.open_for_all()
    last = peer.send("last", wait=True, skill="read_only")

    assert peers.state_of(peers.task_of(last)) == "COMPLETED"
    assert drill.gate.names == ["repeated", "last"]


def _nudge(drill: Stand, run_id: object, *, times: int) -> None:
    prefix = drill.site.environment["A2A_REDIS_PREFIX"]
    app = Celery(broker=drill.site.redis_url, set_as_current=False)
    app.conf.broker_transport_options = {"global_keyprefix": f"{prefix}:"}
    with app.connection_for_write() as connection:
        for _ in range(times):
            app.send_task(
                "agent_runs.execute_run",
                kwargs={"run_id": str(run_id)},
                queue="agent_runs",
                connection=connection,
            )
    app.close()
