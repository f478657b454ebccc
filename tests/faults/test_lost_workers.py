"""Workers that die or stop in the middle of runs (R9, R11, R12, B131, B132).

One accident for most of the module: a worker with six runs is killed, another with two is
stopped for longer than its leases, and what is left of the installation has to notice.
The leases run out in real time.
"""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests import peer as peers
from tests import processes
from tests.agent_runs import openai_server
from tests.drill.stand import SKILLS, Stand, stand

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.agent_runs.openai_server import OpenAIServer
    from tests.peer import Peer
    from tests.processes import Process

pytestmark = [
    pytest.mark.faults,
    pytest.mark.services,
    pytest.mark.timeout(300),
]

# The lease, the reaper's interval, and what a busy machine needs for the rest.
RESCUE_SECONDS = 95.0


@dataclass(slots=True, kw_only=True)
class Accident:
    """`tasks`: as they were once everything had ended; `seconds`: until then."""

    drill: Stand
    peer: Peer
    model: OpenAIServer
    task_ids: dict[str, str]
    tasks: dict[str, dict[str, Any]]
    seconds: float
    stopped: Process


@pytest.fixture(scope="module")
def accident(
    tmp_path_factory: pytest.TempPathFactory, postgresql: str, redis_url: str
) -> Iterator[Accident]:
    directory = tmp_path_factory.mktemp("accident")
    with (
        openai_server.running() as model,
        stand(directory, database=postgresql, redis_url=redis_url) as drill,
    ):
        _make_records(drill, model)
        drill.site.start_web()
        peer = drill.peer()
        task_ids = _let_a_worker_die(drill, peer, model)
        stopped, held = _let_a_worker_stop(drill, peer)
        task_ids |= held
        began = time.monotonic()
        tasks = _rescue(drill, peer, task_ids)
        yield Accident(
            drill=drill,
            peer=peer,
            model=model,
            task_ids=task_ids,
            tasks=tasks,
            seconds=time.monotonic() - began,
            stopped=stopped,
        )
        stopped.resume()


def _make_records(drill: Stand, model: OpenAIServer) -> None:
    skills: dict[str, Any] = {name: {"handler": f"drill.{name}"} for name in SKILLS}
    skills["model"] = {"handler": "llm.text", "model_url": model.base_url}
    drill.make_records(skills)


def _let_a_worker_die(drill: Stand, peer: Peer, model: OpenAIServer) -> dict[str, str]:
    worker = drill.site.start_celery_worker(concurrency=8)
    model.answer = openai_server.Answer(hangs=True)
    task_ids = {
        skill: peer.start(skill, skill=skill)
        for skill in ("read_only", "idempotent", "writing", "model")
    }
    for skill in ("read_only", "idempotent", "writing"):
        drill.gate.wait_for(skill)
    # Each in another step, with a checkpoint after every step before it.
    for number in (1, 2, 3):
        name = f"step-{number}"
        drill.gate.open(*(f"{name}/{passed}" for passed in range(1, number)))
        task_ids[name] = peer.start(name, skill="stepwise")
        drill.gate.wait_for(f"{name}/{number}")
    processes.wait_until(lambda: model.asked, what="the model's first call")
    worker.kill()
    model.answer = openai_server.stream("The model", " is done")
    return task_ids


def _let_a_worker_stop(drill: Stand, peer: Peer) -> tuple[Process, dict[str, str]]:
    worker = drill.site.start_celery_worker(concurrency=4)
    task_ids = {
        "paused": peer.start("paused", skill="read_only"),
        "paused-step": peer.start("paused-step", skill="stepwise"),
    }
    drill.gate.open("paused-step/1")
    drill.gate.wait_for("paused")
    drill.gate.wait_for("paused-step/2")
    worker.pause()
    return worker, task_ids


def _rescue(drill: Stand, peer: Peer, task_ids: dict[str, str]) -> dict[str, Any]:
    # Also what the stopped worker holds may go on, as soon as it can.
    drill.gate.open_for_all()
    drill.start_all_workers()
    return {
        name: peer.wait_until_ended(task_id, seconds=150)
        for name, task_id in task_ids.items()
    }


def _settlings(accident: Accident, name: str) -> int:
    count: int = accident.drill.site.rows(
        "SELECT count(*) FROM agent_runs_agentrunevent e "
        "JOIN a2a_server_task t ON t.run_id = e.run_id "
        "WHERE t.id = %s AND e.kind = 'settled'",
        accident.task_ids[name],
    )[0][0]
    return count


# --- Killed ---------------------------------------------------------------------------


def test_everything_has_ended_within_a_minute_and_a_half(accident: Accident) -> None:
    """R9, R11: a lease of 60 s, and a reaper every few seconds."""
    assert accident.seconds < RESCUE_SECONDS


@pytest.mark.parametrize("name", ["read_only", "idempotent"])
def test_begins_again_what_may_be_repeated(accident: Accident, name: str) -> None:
    """R11, R12."""
    assert peers.state_of(accident.tasks[name]) == "COMPLETED"
    assert peers.text_of(accident.tasks[name]) == f"{name} is done"
    assert len(accident.drill.gate.visits(name)) == 2


def test_never_begins_again_what_may_have_written(accident: Accident) -> None:
    """R8, R11."""
    task_id = accident.task_ids["writing"]

    assert peers.state_of(accident.tasks["writing"]) == "FAILED"
    assert accident.drill.run_of(task_id, "end_reason") == ("lease_lost_after_write",)
    assert len(accident.drill.gate.visits("writing")) == 1


@pytest.mark.parametrize("killed_in", [1, 2, 3])
def test_goes_on_behind_the_last_checkpoint(accident: Accident, killed_in: int) -> None:
    """R8, R11. In its first step it has no checkpoint yet, and may have written."""
    name = f"step-{killed_in}"

    state = peers.state_of(accident.tasks[name])
    visits = [len(accident.drill.gate.visits(f"{name}/{step}")) for step in (1, 2, 3)]

    expected = {
        1: ("FAILED", [1, 0, 0]),
        2: ("COMPLETED", [1, 2, 1]),
        3: ("COMPLETED", [1, 1, 2]),
    }
    assert (state, visits) == expected[killed_in]


def test_asks_the_model_again_when_its_answer_was_not_stored(
    accident: Accident,
) -> None:
    """R12."""
    assert peers.state_of(accident.tasks["model"]) == "COMPLETED"
    assert peers.text_of(accident.tasks["model"]) == "The model is done"
    assert len(accident.model.asked) == 2


def test_every_run_ends_once(accident: Accident) -> None:
    """R3, R12: never two answers."""
    settlings = {name: _settlings(accident, name) for name in accident.task_ids}

    assert settlings == dict.fromkeys(accident.task_ids, 1)


# --- Stopped and continued ------------------------------------------------------------


def _wait_for_end(accident: Accident, name: str) -> None:
    """Of the stopped worker's segment: it learns of its loss before its move or by it."""
    (run_id,) = accident.drill.run_of(accident.task_ids[name], "id")
    line = accident.stopped.wait_for_line(f'"segment ended".*"{run_id}"')
    assert json.loads(line)["stored"] is False


def test_a_late_outcome_changes_nothing(accident: Accident) -> None:
    """R3, R9: whoever comes back after its lease finds the run ended."""
    before = accident.tasks["paused"]

    accident.stopped.resume()
    _wait_for_end(accident, "paused")

    assert accident.peer.task(accident.task_ids["paused"]) == before
    assert _settlings(accident, "paused") == 1
    assert len(accident.drill.gate.visits("paused")) == 2


def test_a_late_segment_starts_nothing_more(accident: Accident) -> None:
    """R9: its next checkpoint tells it that the lease is lost."""
    accident.stopped.resume()
    _wait_for_end(accident, "paused-step")

    visits = [
        len(accident.drill.gate.visits(f"paused-step/{step}")) for step in (1, 2, 3)
    ]
    assert visits == [1, 2, 1]
    assert peers.state_of(accident.tasks["paused-step"]) == "COMPLETED"


# --- A child --------------------------------------------------------------------------


def test_survives_the_death_of_a_child_of_its_pool(drill: Stand) -> None:
    """R12: Celery loses the message of a killed child; the row is still there."""
    drill.site.start_celery_worker(pool="prefork", concurrency=1)
    drill.site.start_periodic_worker()
    drill.site.start_beat()
    peer = drill.peer()
    task_id = peer.start("child", skill="read_only")
    visit = drill.gate.wait_for("child")

    os.kill(visit.pid, signal.SIGKILL)
    visit.wait_until_left()
    drill.expire_leases()
    drill.gate.open_for_all()

    assert peers.state_of(peer.wait_until_ended(task_id)) == "COMPLETED"
    assert [v.pid == visit.pid for v in drill.gate.visits("child")] == [True, False]
