from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import TYPE_CHECKING

import pytest
from django.db import connection

from a2a_server import conf
from a2a_server.executor import OverdueError, Threads, outcome_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_django.fixtures import Settings

pytestmark = pytest.mark.django_db(transaction=True)

_variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")


@pytest.fixture
def threads() -> Iterator[Threads]:
    threads = Threads()
    yield threads
    threads.close()


@pytest.fixture
def _one_thread(settings: Settings) -> None:
    """A pool may begin another one although the first is about to be idle."""
    settings.A2A_SERVER_THREADS = 1


def _raw_connection() -> object:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return connection.connection


async def _twice(
    threads: Threads, function: Callable[[], object]
) -> tuple[object, object]:
    return await threads.run(function), await threads.run(function)


def test_calls_a_function_with_the_context_of_the_coroutine(threads: Threads) -> None:
    async def run() -> str:
        _variable.set("here")
        return await threads.run(_variable.get)

    assert asyncio.run(run()) == "here"


def test_passes_arguments_and_errors_on(threads: Threads) -> None:
    assert asyncio.run(threads.run(int, "11", base=2)) == 3
    with pytest.raises(ValueError, match="invalid literal"):
        asyncio.run(threads.run(int, "x"))


@pytest.mark.usefixtures("_one_thread")
def test_keeps_a_connection_between_two_calls(threads: Threads) -> None:
    """Opening one costs more than a query."""
    first, second = asyncio.run(_twice(threads, _raw_connection))

    assert first is second


@pytest.mark.usefixtures("postgresql", "_one_thread")
def test_replaces_a_connection_that_the_server_closed(threads: Threads) -> None:
    """B137: the next request must not pay for it."""

    first = asyncio.run(threads.run(_backend))
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [first])
    second = asyncio.run(threads.run(_backend))

    assert first != second


def _backend() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pid: int = cursor.fetchone()[0]
    return pid


def test_uses_no_more_threads_than_the_setting_says(threads: Threads) -> None:
    names: set[str] = set()

    async def run_many() -> None:
        calls = (threads.run(_note_name, names) for _ in range(50))
        await asyncio.gather(*calls)

    asyncio.run(run_many())

    assert 1 <= len(names) <= conf.threads()


def _note_name(names: set[str]) -> None:
    names.add(threading.current_thread().name)


def test_waits_no_longer_than_it_may(threads: Threads) -> None:
    """A thread that hangs holds up nobody; what had not begun by then never does."""
    free, second = threading.Event(), threading.Event()

    async def overtake() -> None:
        calls = [threads.start(free.wait) for _ in range(conf.threads())]
        waits = [threads.start(second.set), *calls]
        for call in waits:
            with pytest.raises(OverdueError):
                await outcome_of(call, seconds=0.05)

    asyncio.run(overtake())
    free.set()
    threads.close()

    assert not second.is_set()


def test_passes_on_a_time_out_of_the_function(threads: Threads) -> None:
    """It is not taken for its own."""

    def give_up() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        asyncio.run(threads.run(give_up))


def test_submits_without_waiting(threads: Threads) -> None:
    done = threading.Event()

    threads.submit(done.set)

    assert done.wait(5)


def test_works_again_after_it_was_closed(threads: Threads) -> None:
    asyncio.run(threads.run(_raw_connection))
    threads.close()
    threads.close()

    assert asyncio.run(threads.run(int, "1")) == 1
