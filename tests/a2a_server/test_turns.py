from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import pytest

from a2a_server import conf, executor
from a2a_server.turns import turn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@contextlib.asynccontextmanager
async def all_turns(client: str) -> AsyncIterator[None]:
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(max(conf.threads() - 1, 1)):
            await stack.enter_async_context(turn(client, seconds=0))
        yield


def test_a_client_occupies_all_threads_but_one() -> None:
    async def take_one_more() -> None:
        async with all_turns("a"), turn("a", seconds=0):
            pass

    with pytest.raises(executor.OverdueError):
        asyncio.run(take_one_more())


def test_takes_nothing_from_another_client() -> None:
    async def take() -> bool:
        async with all_turns("a"), all_turns("b"):
            return True

    assert asyncio.run(take())


def test_a_turn_that_ends_is_the_next_ones() -> None:
    async def take_again() -> bool:
        for _ in range(3):
            async with all_turns("a"):
                pass
        return True

    assert asyncio.run(take_again())


def test_a_turn_that_fails_ends_too() -> None:
    async def fail_and_take() -> bool:
        with contextlib.suppress(LookupError):
            async with all_turns("a"):
                raise LookupError
        async with all_turns("a"):
            return True

    assert asyncio.run(fail_and_take())
