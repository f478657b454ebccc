"""Accidents to runs that have handed a step to a remote agent (C5–C9, R12).

As in `test_points.py` each accident happens to many runs at once, every one of which
stands at another point of `handovers.py`. The agent counts what reaches it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests import processes
from tests.drill import agent as drill_agent
from tests.faults import handovers, ordeal, report
from tests.faults.accidents import Accidents
from tests.faults.store_server import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.drill.agent import DrillAgent
    from tests.faults.accidents import Seen
    from tests.faults.handovers import Handover
    from tests.faults.ordeal import Case, Ordeal, Outcome
    from tests.processes import Process
    from tests.redis_server import RedisServer

pytestmark = [
    pytest.mark.faults,
    pytest.mark.services,
    pytest.mark.timeout(300),
]

CLIENT_ROLE = {
    "A2A_CLIENT_ENABLED": "on",
    "A2A_EGRESS_ALLOW_LOOPBACK": "on",
    "DEBUG": "1",
}
# Only periodic jobs: the runs belong to the Celery worker.
NO_RUNS = ("--limit", "0")
_IS_TAKEN = (
    "agent_runs_periodicjobstate WHERE name = 'remote-cancel' AND next_at > now()"
)


@pytest.fixture(scope="module")
def agent() -> Iterator[DrillAgent]:
    with drill_agent.running() as made:
        yield made


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory,
    postgresql: str,
    module_broker: RedisServer,
    agent: DrillAgent,
) -> Iterator[Ordeal]:
    with ordeal.running(
        tmp_path_factory.mktemp("handovers"),
        database=postgresql,
        redis_url=module_broker.url,
        agents=agent.records,
        **CLIENT_ROLE,
    ) as made:
        agent.gate_port = made.drill.gate.port
        agent.run_ids = made.model.run_ids
        yield made


@pytest.fixture(scope="module")
def accidents(site: Ordeal) -> Accidents:
    return Accidents(site)


def _by_name(moment: Handover) -> str:
    return moment.name.replace(" ", "-")


def _problems(
    agent: DrillAgent, seen: Seen, moment: Handover, *, calls: Sequence[str]
) -> list[str]:
    """`calls`: how the remote call may have ended."""
    found = []
    for case, outcome in seen[moment]:
        found += ordeal.problems(case, outcome, reason="completed")
        found += _of_call(case, outcome, calls)
        found += _of_messages(agent, case)
    return found


def _of_call(case: Case, outcome: Outcome, calls: Sequence[str]) -> Iterator[str]:
    if outcome.calls not in calls:
        yield f"{case.name}: the call is {outcome.calls}"
    result = "success" if outcome.calls == "completed" else "failed"
    if outcome.results != result:
        yield f"{case.name}: the model was told {outcome.results}"


def _of_messages(agent: DrillAgent, case: Case) -> Iterator[str]:
    """No message may come twice, and none that was not meant."""
    came = agent.messages(case.name)
    if any(number > 1 for number in came.values()):
        yield f"{case.name}: sent again"
    if len(came) > (2 if case.name.startswith("pass-on") else 1):
        yield f"{case.name}: {len(came)} messages"


def _worker(site: Ordeal) -> Process:
    """The one that is at work: an accident leaves one to the next."""
    return _alive(site, "celery") or site.start_worker()


def _sweep(site: Ordeal) -> Process:
    return _alive(site, "sweep") or site.start_sweep(*NO_RUNS)


def _alive(site: Ordeal, name: str) -> Process | None:
    mine = [process for process in site.workers if process.name.startswith(name)]
    return next((each for each in mine if each.popen.poll() is None), None)


# --- Killed ---------------------------------------------------------------------------


def _worker_killed_while_handing_over(site: Ordeal) -> list[Case]:
    worker, _ = _worker(site), _sweep(site)
    cases = site.stop_at(handovers.OF_THE_WORKER)
    worker.kill()
    site.let_time_pass()
    site.start_worker()
    site.drill.gate.open_for_all()
    site.wait_for_all()
    return cases


def _polls_killed(site: Ordeal) -> list[Case]:
    cases = []
    _worker(site)
    for moment in handovers.OF_THE_POLLS:
        sweep = _sweep(site)
        cases += site.stop_at([moment])
        sweep.kill()
        site.let_time_pass()
        site.start_sweep(*NO_RUNS)
        site.drill.gate.open_for_all()
        site.wait_for_all()
    return cases


@pytest.mark.parametrize("moment", handovers.OF_THE_WORKER, ids=_by_name)
def test_a_killed_worker_sends_nothing_twice(
    accidents: Accidents, agent: DrillAgent, moment: Handover
) -> None:
    """C7, R12: what may have left has an unknown outcome; all else goes on."""
    seen = accidents.of(_worker_killed_while_handing_over)

    assert _problems(agent, seen, moment, calls=[moment.call]) == []
    ((case, outcome),) = seen[moment]
    assert agent.messages(case.name).total() == moment.sent
    assert outcome.retries == int(moment.is_leased)


@pytest.mark.parametrize("moment", handovers.OF_THE_POLLS, ids=_by_name)
def test_a_killed_poll_loses_nothing(
    accidents: Accidents, agent: DrillAgent, moment: Handover
) -> None:
    """C6, R12: the next one asks again, and the run goes on once."""
    seen = accidents.of(_polls_killed)

    assert _problems(agent, seen, moment, calls=["completed"]) == []
    assert [outcome.retries for _, outcome in seen[moment]] == [0]


def test_a_killed_cancellation_is_not_sent_again(
    site: Ordeal, agent: DrillAgent
) -> None:
    """C9: once, best effort; the call is over for us."""
    _worker(site)
    sweep = _sweep(site)
    (case,) = site.stop_at([handovers.LINGERING])
    site.drill.gate.hold(f"{case.run_id}/agent.cancel")
    site.drill.gate.release(case.visit)
    _wait_for_remote(site, case)
    case.peer.call("CancelTask", {"id": case.task_id})
    site.drill.gate.wait_for(f"{case.run_id}/agent.cancel")
    sweep.kill()
    site.let_time_pass()
    site.start_sweep(*NO_RUNS)
    site.drill.gate.open_for_all()
    _let_cancellations_pass(site)

    outcome = site.outcome_of(case)
    assert (outcome.state, outcome.calls) == ("canceled", "canceled")
    assert agent.cancellations(case.name) == 1
    assert agent.messages(case.name).total() == 1
    report.add("cancellation killed", handovers.LINGERING.name, [outcome.name])


def _wait_for_remote(site: Ordeal, case: Case) -> None:
    processes.wait_until(
        lambda: site.outcome_of(case).state == "waiting_for_remote",
        what="the suspension",
    )


def _let_cancellations_pass(site: Ordeal) -> None:
    """A sweep takes its jobs one by one: who took it twice has ended it once."""
    for _ in range(2):
        site.let_nudges_be_repeated()
        processes.wait_until(
            lambda: site.drill.count(_IS_TAKEN), what="a round of cancellations"
        )


# --- The store drops its connections --------------------------------------------------


def _connections_cut_while_handing_over(site: Ordeal) -> list[Case]:
    store = Store(site.drill.site.database_url)
    worker, _ = _worker(site), _sweep(site)
    cases = site.stop_at(handovers.OF_THE_WORKER)
    store.cut_connections()
    site.drill.gate.open_for_all()
    # It ends what it can end; the rest it leaves to the reaper.
    assert worker.stop() == 0
    site.let_time_pass()
    site.start_worker()
    site.wait_for_all()
    store.close()
    return cases


@pytest.mark.parametrize("moment", handovers.OF_THE_WORKER, ids=_by_name)
def test_cut_connections_send_nothing_twice(
    accidents: Accidents, agent: DrillAgent, moment: Handover
) -> None:
    """C7, R12: an answer that cannot be stored is an answer that never came."""
    seen = accidents.of(_connections_cut_while_handing_over)

    assert _problems(agent, seen, moment, calls=["completed", "unknown"]) == []


# --- Stopped and continued ------------------------------------------------------------


def _worker_stopped_while_handing_over(site: Ordeal) -> list[Case]:
    """Stopped past its leases, and continued when everything has ended without it."""
    worker, _ = _worker(site), _sweep(site)
    held = site.stop_at(handovers.THAT_MAY_STOP)
    worker.pause()
    site.let_time_pass()
    site.start_worker()
    # It has stopped with a message that it had just taken.
    site.wait_for_all(meanwhile=site.let_nudges_be_repeated)
    before = [site.outcome_of(case) for case in held]
    worker.resume()
    site.drill.gate.open_for_all()
    assert worker.stop() == 0
    assert [site.outcome_of(case) for case in held] == before
    return held


@pytest.mark.parametrize("moment", handovers.THAT_MAY_STOP, ids=_by_name)
def test_a_worker_that_comes_back_late_sends_nothing_twice(
    accidents: Accidents, agent: DrillAgent, moment: Handover
) -> None:
    """R9, C7: what it learns of the agent by then changes nothing."""
    seen = accidents.of(_worker_stopped_while_handing_over)

    assert _problems(agent, seen, moment, calls=["completed", "unknown"]) == []


# --- Redis starts anew ----------------------------------------------------------------


@pytest.fixture
def redis_restarted(module_broker: RedisServer) -> Callable[[Ordeal], list[Case]]:
    def _redis_restarted_while_handing_over(site: Ordeal) -> list[Case]:
        worker, _ = _worker(site), _sweep(site)
        held = site.stop_at(handovers.OF_THE_WORKER)
        module_broker.kill()
        module_broker.start()
        site.drill.gate.open_for_all()
        site.wait_for_all(meanwhile=site.let_nudges_be_repeated)
        assert worker.stop() == 0
        return held

    return _redis_restarted_while_handing_over


@pytest.mark.parametrize("moment", handovers.OF_THE_WORKER, ids=_by_name)
def test_redis_may_lose_everything(
    accidents: Accidents,
    agent: DrillAgent,
    redis_restarted: Callable[[Ordeal], list[Case]],
    moment: Handover,
) -> None:
    """W5, C5: nothing of a remote call is in Redis."""
    seen = accidents.of(redis_restarted)

    assert _problems(agent, seen, moment, calls=["completed"]) == []
    assert [outcome.retries for _, outcome in seen[moment]] == [0]


# --- After all of it ------------------------------------------------------------------


def test_no_call_is_left_behind(site: Ordeal) -> None:
    """C6, C7: also of runs that ended while their call was on its way."""
    left = site.drill.site.rows(
        "SELECT state, cancellation FROM a2a_client_remotecall WHERE ended_at IS NULL "
        "OR due_at IS NOT NULL OR question IS NOT NULL OR cancellation = 'wanted'"
    )

    assert left == []
