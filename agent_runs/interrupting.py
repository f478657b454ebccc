"""Waiting for something outside, so that the supervisor can cut the wait short (R14)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from agent_runs.segment import Segment

T = TypeVar("T")


async def interruptible(segment: Segment, work: Awaitable[T]) -> T:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    if task is None:
        raise RuntimeError("the work runs outside a task")
    with segment.interruptible(lambda: _ignore(loop.call_soon_threadsafe(task.cancel))):
        return await work


def _ignore(_: object) -> None:
    pass
