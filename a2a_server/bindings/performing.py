"""Carrying out one call on behalf of any binding.

An operation runs in a thread. Where it says «answer later», the request waits on the
event loop with neither a thread nor a connection, until the task has settled, the time is
over or the peer has gone; the task goes on in any case (S44–S46).
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from typing import TYPE_CHECKING

from a2a_protocol.errors import LocalError, ProtocolError
from a2a_server import executor, turns, waiting
from a2a_server.bodies import PeerGoneError
from a2a_server.errors import Reason, refuse
from a2a_server.limits import waiting_slots
from a2a_server.operations.calls import Reply, Wait
from agent_runs.store import STORE_AWAY

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from a2a_server.asgi_types import Receive
    from a2a_server.exchanges import Exchange

logger = logging.getLogger(__name__)

# How long the last look at a task may take, where the database hangs.
LAST_LOOK_SECONDS = 2.0


async def perform(exchange: Exchange, work: Callable[[], Reply | Wait]) -> Reply:
    """Do the work of one call. Raise what it raises, or PeerGoneError."""
    async with _turn(exchange):
        outcome = await _begin(work)
    if isinstance(outcome, Reply):
        return outcome
    try:
        return await _wait(exchange.receive, outcome)
    except BaseException:
        _give_back(outcome)
        raise


def _turn(exchange: Exchange) -> contextlib.AbstractAsyncContextManager[None]:
    if not exchange.turn_key:
        return contextlib.nullcontext()
    return turns.turn(exchange.turn_key)


async def _begin(work: Callable[[], Reply | Wait]) -> Reply | Wait:
    call = executor.start(work)
    try:
        return await executor.outcome_of(call)
    except BaseException:
        # Its thread goes on, and may take a slot for a request that has gone.
        call.add_done_callback(_give_back_unclaimed)
        raise


def _give_back_unclaimed(call: Future[Reply | Wait]) -> None:
    if not call.cancelled() and not call.exception():
        _give_back(call.result())


def _give_back(outcome: Reply | Wait) -> None:
    if isinstance(outcome, Wait) and outcome.slot:
        executor.submit(functools.partial(waiting_slots.release, outcome.slot))


async def _wait(receive: Receive, wait: Wait) -> Reply:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + wait.seconds
    with waiting.notifier().watching(wait.task_id) as bell:
        hang_up = asyncio.create_task(_hear_hang_up(receive, bell))
        try:
            while True:
                await _listen(bell, deadline - loop.time())
                if hang_up.done():
                    raise PeerGoneError
                bell.clear()
                reply = await _look(wait, seconds=deadline - loop.time())
                if reply:
                    return reply
        except (asyncio.CancelledError, executor.OverdueError, *STORE_AWAY):
            # The server stops, or the database is away (S92); the peer is told what a
            # deadline would tell it.
            raise refuse(
                Reason.BLOCKING_DEADLINE_EXCEEDED,
                metadata={"taskId": str(wait.task_id)},
            ) from None
        finally:
            hang_up.cancel()


async def _listen(bell: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(bell.wait(), max(seconds, 0))


async def _hear_hang_up(receive: Receive, bell: asyncio.Event) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue
    bell.set()


async def _look(wait: Wait, *, seconds: float) -> Reply | None:
    """Read the task. Raise OverdueError or STORE_AWAY when the deadline has passed."""
    look = executor.start(functools.partial(_finish, wait, is_last=seconds <= 0))
    return await executor.outcome_of(look, seconds=max(seconds, LAST_LOOK_SECONDS))


def _finish(wait: Wait, *, is_last: bool) -> Reply | None:
    """Read the task, and free the slot together with the answer."""
    try:
        reply = wait.finish(is_last=is_last)
    except STORE_AWAY:
        # It may be back before the deadline (S92).
        if is_last:
            raise
        return None
    if is_last and reply is None:
        raise TypeError("An operation that waits gave no answer at its deadline.")
    if reply and wait.slot:
        waiting_slots.release(wait.slot)
    return reply


def protocol_error(error: BaseException, exchange: Exchange) -> ProtocolError:
    """What the peer is told of an error; everything else of it stays in the log."""
    if isinstance(error, ProtocolError) and not isinstance(error, LocalError):
        return error
    if isinstance(error, asyncio.CancelledError):
        # The server stops, and cuts off who is in the middle of something.
        return refuse(Reason.STORE_UNAVAILABLE)
    if isinstance(error, (*STORE_AWAY, executor.OverdueError)):
        logger.warning(
            "The database is away",
            extra={
                "request_id": exchange.request_id,
                "error": str(error) or type(error).__name__,
            },
        )
        return refuse(Reason.STORE_UNAVAILABLE)
    logger.error(
        "A2A request failed", exc_info=error, extra={"request_id": exchange.request_id}
    )
    return refuse(Reason.INTERNAL, metadata={"errorId": exchange.request_id})
