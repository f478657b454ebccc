"""Accidents at every named point of a run (R8–R13, W5, W6).

Each accident happens to many runs at once, every one of which stands at another point of
`moments.py`. It happens when the first test asks what came of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from celery import Celery

from tests import processes
from tests.faults import moments, ordeal
from tests.faults.accidents import Accidents
from tests.faults.store_server import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.faults.accidents import Seen
    from tests.faults.moments import Moment
    from tests.faults.ordeal import Case, Ordeal
    from tests.processes import Process
    from tests.redis_server import RedisServer

pytestmark = [
    pytest.mark.faults,
    pytest.mark.services,
    pytest.mark.timeout(400),
]

KILLS = 2
# The server of the database ends a session that stays in a transaction so long.
SHORT_IDLE_SECONDS = 3


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory,
    postgresql: str,
    module_broker: RedisServer,
) -> Iterator[Ordeal]:
    directory = tmp_path_factory.mktemp("ordeal")
    url = module_broker.url
    with ordeal.running(directory, database=postgresql, redis_url=url) as made:
        yield made


@pytest.fixture(scope="module")
def accidents(site: Ordeal) -> Accidents:
    return Accidents(site)


def _by_name(moment: Moment) -> str:
    return moment.name.replace(" ", "-")


def _problems(seen: Seen, moment: Moment, *, reason: str = "completed") -> list[str]:
    return [
        problem
        for case, outcome in seen[moment]
        for problem in ordeal.problems(case, outcome, reason=reason)
    ]


# --- Killed ---------------------------------------------------------------------------


def _worker_killed(site: Ordeal) -> list[Case]:
    cases = []
    worker = site.start_worker()
    for batch in ordeal.batches(moments.ALL) * KILLS:
        cases += site.stop_at(batch)
        worker.kill()
        site.let_time_pass()
        worker = site.start_worker()
        site.drill.gate.open_for_all()
        site.wait_for_all()
    assert worker.stop() == 0
    return cases


def _sweep_killed(site: Ordeal) -> list[Case]:
    cases = []
    sweep = site.start_sweep()
    for moment in moments.OF_THE_SWEEP:
        cases += site.stop_at([moment])
        sweep.kill()
        site.let_time_pass()
        sweep = site.start_sweep()
        site.drill.gate.open_for_all()
        site.wait_for_all()
    assert sweep.stop() == 0
    return cases


@pytest.mark.parametrize("moment", moments.ALL, ids=_by_name)
def test_a_killed_worker_leaves_one_outcome(
    accidents: Accidents, moment: Moment
) -> None:
    """R12, R13: one end, one answer, one draft at most, and events that say so."""
    seen = accidents.of(_worker_killed)

    assert len(seen[moment]) == KILLS
    assert _problems(seen, moment, reason=moment.reason) == []


@pytest.mark.parametrize("moment", moments.OF_THE_SWEEP, ids=_by_name)
def test_a_killed_sweep_leaves_one_outcome(
    accidents: Accidents, moment: Moment
) -> None:
    """R12, W3: the embedded worker dies no worse."""
    seen = accidents.of(_sweep_killed)

    assert _problems(seen, moment, reason=moment.reason) == []


@pytest.mark.parametrize("moment", moments.ALL, ids=_by_name)
def test_the_log_says_which_lease_was_left_behind(
    accidents: Accidents, site: Ordeal, moment: Moment
) -> None:
    """R11: and nothing is tried again that was in nobody's hands."""
    seen = accidents.of(_worker_killed)[moment]

    expired = [site.log_of(case, "lease expired") for case, _ in seen]
    retries = [outcome.retries for _, outcome in seen]

    assert expired == [int(moment.is_leased)] * KILLS
    assert retries == expired


def test_nothing_is_stuck(accidents: Accidents, site: Ordeal) -> None:
    """R12: no lease without a run, nothing queued, nobody waiting."""
    accidents.of(_worker_killed)

    left = site.drill.site.rows(
        "SELECT state, count(*) FROM agent_runs_agentrun WHERE ended_at IS NULL "
        "OR lease_owner <> '' OR waiting_id <> '' OR checkpoint IS NOT NULL "
        "OR pending IS NOT NULL OR due_at IS NOT NULL GROUP BY state"
    )

    assert left == []


# --- The store drops its connections --------------------------------------------------


def _connections_cut(site: Ordeal) -> list[Case]:
    store = Store(site.drill.site.database_url)
    cases = []
    worker = site.start_worker()
    for batch in ordeal.batches(moments.DRAFTING):
        cases += site.stop_at(batch)
        store.cut_connections()
        site.drill.gate.open_for_all()
        # It ends what it can end; the rest it leaves to the reaper.
        assert worker.stop() == 0
        site.let_time_pass()
        worker = site.start_worker()
        site.wait_for_all()
    assert worker.stop() == 0
    store.close()
    return cases


@pytest.mark.parametrize("moment", moments.DRAFTING, ids=_by_name)
def test_cut_connections_leave_one_outcome(
    accidents: Accidents, moment: Moment
) -> None:
    """R9, R12, R13: also in the middle of the write's transaction."""
    seen = accidents.of(_connections_cut)

    assert _problems(seen, moment) == []


# --- Stopped and continued ------------------------------------------------------------


def _worker_stopped(site: Ordeal) -> list[Case]:
    """Stopped past its leases, and continued when everything has ended without it."""
    cases = []
    for batch in ordeal.batches(moments.DRAFTING):
        worker = site.start_worker(DATABASE_URL=_with_short_sessions(site))
        held = site.stop_at(batch)
        worker.pause()
        _wait_until_no_transaction_is_open(site)
        site.let_time_pass()
        successor = site.start_worker()
        _let_the_person_decide(site, held)
        site.wait_for_all()
        before = [site.outcome_of(case) for case in held]
        worker.resume()
        site.drill.gate.open_for_all()
        assert worker.stop() == 0
        assert successor.stop() == 0
        assert [site.outcome_of(case) for case in held] == before
        cases += held
    return cases


def _with_short_sessions(site: Ordeal) -> str:
    setting = f"idle_in_transaction_session_timeout%3D{SHORT_IDLE_SECONDS}s"
    return f"{site.drill.site.database_url}?options=-c%20{setting}"


def _wait_until_no_transaction_is_open(site: Ordeal) -> None:
    """The server has ended the sessions of a worker that stopped within one."""
    open_ones = (
        "pg_stat_activity WHERE datname = current_database() "
        "AND state LIKE 'idle in transaction%%'"
    )
    processes.wait_until(
        lambda: not site.drill.count(open_ones.replace("%%", "%")),
        what="the end of idle transactions",
    )


def _let_the_person_decide(site: Ordeal, held: Sequence[Case]) -> None:
    """The person is not the worker, which alone has stopped."""
    for case in held:
        site.drill.gate.release(case.person)


@pytest.mark.parametrize("moment", moments.DRAFTING, ids=_by_name)
def test_a_worker_that_comes_back_late_changes_nothing(
    accidents: Accidents, moment: Moment
) -> None:
    """R9, R12: its successor's outcome stays, event by event."""
    seen = accidents.of(_worker_stopped)

    assert _problems(seen, moment) == []


# --- Delivered twice ------------------------------------------------------------------


def _message_delivered_again(site: Ordeal) -> list[Case]:
    cases = []
    workers = [site.start_worker(), site.start_worker()]
    for batch in ordeal.batches(moments.DRAFTING):
        held = site.stop_at(batch)
        _nudge(site, [case.run_id for case in held] * 3)
        site.drill.gate.open_for_all()
        site.wait_for_all()
        cases += held
    assert [worker.stop() for worker in workers] == [0, 0]
    return cases


def _nudge(site: Ordeal, run_ids: Sequence[str]) -> None:
    prefix = site.drill.site.environment["A2A_REDIS_PREFIX"]
    app = Celery(broker=site.drill.site.redis_url, set_as_current=False)
    app.conf.broker_transport_options = {"global_keyprefix": f"{prefix}:"}
    with app.connection_for_write() as connection:
        for run_id in run_ids:
            app.send_task(
                "agent_runs.execute_run",
                kwargs={"run_id": run_id},
                queue="agent_runs",
                connection=connection,
            )
    app.close()


@pytest.mark.parametrize("moment", moments.DRAFTING, ids=_by_name)
def test_a_message_that_comes_again_changes_nothing(
    accidents: Accidents, moment: Moment
) -> None:
    """W5: two workers, four messages, one outcome; nothing is even tried again."""
    seen = accidents.of(_message_delivered_again)

    assert _problems(seen, moment) == []
    assert [outcome.retries for _, outcome in seen[moment]] == [0]


# --- Told to stop ---------------------------------------------------------------------


def _worker_told_to_stop(site: Ordeal) -> list[Case]:
    worker = site.start_worker()
    cases = site.stop_at(moments.WAITING)
    assert worker.stop(seconds=10) == 0
    successor = site.start_worker()
    site.drill.gate.open_for_all()
    site.wait_for_all()
    assert successor.stop() == 0
    return cases


@pytest.mark.parametrize("moment", moments.WAITING, ids=_by_name)
def test_a_worker_may_stop_while_a_run_waits(
    accidents: Accidents, moment: Moment
) -> None:
    """W6: at once, since nothing keeps it; another one goes on."""
    seen = accidents.of(_worker_told_to_stop)

    assert _problems(seen, moment) == []
    assert [outcome.retries for _, outcome in seen[moment]] == [0]


# --- Redis starts anew ----------------------------------------------------------------


@pytest.fixture
def redis_restarted(module_broker: RedisServer) -> Callable[[Ordeal], list[Case]]:
    def _redis_restarted(site: Ordeal) -> list[Case]:
        cases = []
        worker = site.start_worker()
        for batch in ordeal.batches(moments.DRAFTING):
            held = site.stop_at(batch)
            module_broker.kill()
            module_broker.start()
            _wait_for_connection(worker)
            site.drill.gate.open_for_all()
            # Also a process that only sends notices the loss when it sends.
            site.wait_for_all(meanwhile=site.let_nudges_be_repeated)
            cases += held
        assert worker.stop() == 0
        return cases

    return _redis_restarted


def _wait_for_connection(worker: Process) -> None:
    """The worker has lost its broker and found it again."""
    processes.wait_until(
        lambda: (
            worker.output.count("Connection to broker lost")
            == worker.output.count("Connected to redis") - 1
            > 0
        ),
        what="the broker",
    )


@pytest.mark.parametrize("moment", moments.DRAFTING, ids=_by_name)
def test_redis_may_lose_everything(
    accidents: Accidents,
    redis_restarted: Callable[[Ordeal], list[Case]],
    moment: Moment,
) -> None:
    """W5: the row is the state; messages and counters in Redis are conveniences."""
    seen = accidents.of(redis_restarted)

    assert _problems(seen, moment) == []
    assert [outcome.retries for _, outcome in seen[moment]] == [0]
