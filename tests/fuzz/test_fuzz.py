"""Whatever a peer sends, the answer is one that was meant for it (S10–S15, S39, S91)."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, seed
from hypothesis import settings as chosen

from a2a_project.asgi import application
from a2a_server.models import Task
from tests.asgi_peer import rpc_body
from tests.fuzz import raw, strategies
from tests.fuzz import records as prepared
from tests.fuzz.driving import AT_ONCE, Driver, usual_headers, watching_log
from tests.fuzz.inputs import Input
from tests.fuzz.judge import OVERDUE
from tests.web_server import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django.fixtures import SettingsWrapper

    from tests.fuzz.conftest import Plan
    from tests.fuzz.judge import Tally
    from tests.fuzz.records import Records

pytestmark = [
    pytest.mark.fuzz,
    pytest.mark.timeout(3600),
    # The framework leaves its buffer of a body to the collector when it is interrupted.
    pytest.mark.filterwarnings(
        "ignore:Unclosed file <tempfile.Spooled:ResourceWarning"
    ),
]

_BATCH = 1_000
# One batch of so many meets no worker, and another one finds hardly a place to wait.
_SEASONS = 12
_NO_WORKER, _NO_PLACE = 5, 2


def test_changed_requests_meet_nothing_but_named_answers(
    plan: Plan, records: Records, settings: SettingsWrapper
) -> None:
    """Real requests with one to three changes, and what they left in the database."""
    tally = plan.tally("mutated")

    with (
        watching_log(records.names.tokens) as watch,
        Driver(application, records, tally) as driver,
    ):
        for at, numbers in enumerate(_batches(plan.numbers("mutated"))):
            records.prepare_tasks()
            prepared.show_worker(is_there=at % _SEASONS != _NO_WORKER)
            places = 1 if at % _SEASONS == _NO_PLACE else 12
            settings.A2A_SERVER_MAX_WAITING_REQUESTS = places
            driver.run(driver.batch(plan.seed, numbers))
            assert list(prepared.leftovers(records, lost=driver.lost)) == []
            watch.check()
        driver.run(driver.end_stalled())

    watch.check()
    assert tally.inputs == len(plan.numbers("mutated"))
    # A machine may stand still once or twice; threads that wait for each other go on.
    assert tally.outcomes[OVERDUE] <= 2 * AT_ONCE


def _batches(numbers: range) -> Iterator[range]:
    for start in range(0, len(numbers), _BATCH):
        yield numbers[start : start + _BATCH]


def test_generated_requests_meet_nothing_but_named_answers(
    plan: Plan, records: Records
) -> None:
    """The protocol's shape filled with any values, smallest first."""
    tally = plan.tally("generated")

    with (
        watching_log(records.names.tokens) as watch,
        Driver(application, records, tally) as driver,
    ):

        @seed(plan.seed)
        @chosen(
            max_examples=plan.share("generated"),
            database=None,
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        @given(strategies.requests(records.names))
        def check(request: Input) -> None:
            driver.run(driver.ask(request, f"FUZZ_SEED={plan.seed}"))
            assert Task.objects.count() == len(records.announced)
            watch.check()

        check()

    assert list(prepared.leftovers(records, lost=0)) == []
    # Hypothesis may find a smaller number of different ones, or need some for a start.
    assert tally.inputs >= plan.share("generated")


def test_raw_bytes_meet_nothing_but_named_answers(
    plan: Plan, records: Records, settings: SettingsWrapper
) -> None:
    """The shipped server and its protocol over real sockets."""
    tally = plan.tally("raw")

    with (
        watching_log(records.names.tokens) as watch,
        serving(application) as server,
    ):
        host = f"127.0.0.1:{server.port}"
        settings.A2A_SERVER_BASE_URLS = [f"http://{host}/a2a"]
        asyncio.run(_ask_raw(plan, records, server.port, tally))

    watch.check()
    assert tally.inputs == len(plan.numbers("raw"))


async def _ask_raw(plan: Plan, records: Records, port: int, tally: Tally) -> None:
    host = f"127.0.0.1:{port}"
    names = records.names
    room = asyncio.Semaphore(AT_ONCE)

    async def ask(number: int) -> None:
        rng = random.Random(f"raw:{plan.seed}:{number}")  # noqa: S311
        data = raw.make(rng, names, host)
        try:
            tally.count(await raw.ask(port, data))
        except Exception as error:
            title = f"FUZZ_SEED={plan.seed} FUZZ_ONLY={number} -k raw"
            raise AssertionError(f"{title}\n{data[:3000]!r}") from error
        finally:
            room.release()

    async with asyncio.TaskGroup() as group:
        for number in plan.numbers("raw"):
            await room.acquire()
            group.create_task(ask(number))
    plain = Input(
        label="real",
        headers=(
            (b"host", host.encode()),
            *usual_headers(names.tokens[0]),
        ),
        body=rpc_body("GetTask", {"id": names.tasks[0]}),
    )
    assert await raw.ask(port, raw.to_bytes(plain)) == "200 result"
