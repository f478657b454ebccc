from __future__ import annotations

import asyncio

import pytest

from agent_runs.interrupting import interruptible
from agent_runs.segment import Ending
from tests.agent_runs.segments import make_segment

pytestmark = pytest.mark.django_db(transaction=True)


async def _answer() -> str:
    return "done"


def test_gives_what_the_work_gives() -> None:
    segment = make_segment()

    assert asyncio.run(interruptible(segment, _answer())) == "done"


def test_an_end_cuts_the_wait_short() -> None:
    """R14."""
    segment = make_segment()

    async def wait() -> None:
        asyncio.get_running_loop().call_soon(segment.end, Ending.GONE)
        await interruptible(segment, asyncio.Event().wait())

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(wait())


def test_a_segment_that_has_ended_does_not_begin_to_wait() -> None:
    segment = make_segment()
    segment.end(Ending.GONE)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(interruptible(segment, asyncio.Event().wait()))
