"""How many of a process's threads one client's calls may occupy at once: all but one.

A send waits in its thread for the client's row while something holds it. However many a
client sends then, other clients still find a thread. A client is known here by what its
requests say of it: a hash of the whole token that they present. Whoever knows a part of it
takes no turn from the client.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakValueDictionary

from a2a_server import conf, executor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

# A semaphore belongs to an event loop, and is forgotten when nobody holds a turn.
_OfClients = WeakValueDictionary[str, asyncio.Semaphore]
_semaphores: WeakKeyDictionary[asyncio.AbstractEventLoop, _OfClients] = (
    WeakKeyDictionary()
)


@contextlib.asynccontextmanager
async def turn(
    key: str, *, seconds: float = executor.CALL_SECONDS
) -> AsyncIterator[None]:
    """Raise executor.OverdueError where it does not come in time."""
    semaphore = _semaphore(key)
    try:
        async with asyncio.timeout(seconds):
            await semaphore.acquire()
    except TimeoutError:
        raise executor.OverdueError from None
    try:
        yield
    finally:
        semaphore.release()


def _semaphore(key: str) -> asyncio.Semaphore:
    loop = asyncio.get_running_loop()
    of_clients = _semaphores.setdefault(loop, WeakValueDictionary())
    semaphore = of_clients.get(key)
    if semaphore is None:
        semaphore = asyncio.Semaphore(max(conf.threads() - 1, 1))
        of_clients[key] = semaphore
    return semaphore
