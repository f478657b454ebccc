"""How a web process learns that a task has settled, without asking for each one.

`notify` is called after a commit, by whichever process made it: it rings in its own
process and, where Redis is configured, publishes one line on the installation's one
channel. A `Notifier` (one per event loop) receives that channel, and as a backstop asks
the database once in a while about all tasks that are waited for, in one query. A bell
says «look»; whether the task has really settled is read from its row.

A waiting request holds neither a thread nor a connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

import redis.asyncio
from django.db import DatabaseError
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from a2a_server import conf, executor, redis_access
from a2a_server.models import Task, TaskState
from a2a_server.models.task import TERMINAL_STATES

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Iterator
    from typing import Any

    from redis.asyncio.client import PubSub

logger = logging.getLogger(__name__)

# A blocking send ends with these (S44).
SETTLED_STATES = frozenset(
    {*TERMINAL_STATES, TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED}
)
_REMEMBERED = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """All in seconds."""

    poll: float = 1.0
    poll_without_redis: float = 0.2
    ping: float = 5.0
    # A server that hangs closes nothing and says nothing; its silence is the sign.
    silence: float = 10.0
    reconnect: float = 1.0


_PACE = Pace()


def channel() -> str:
    return conf.redis_key("tasks")


def notify(task_id: UUID, state: str) -> None:
    """Tell every web process that a task has reached `state`; never raises.

    Call it after the commit that made it so. States that nobody waits for are not sent.
    """
    if state not in SETTLED_STATES:
        return
    for notifier in _notifiers.all():
        notifier.ring_from_thread(task_id)
    if redis_access.is_configured():
        # The poll finds what is not heard of here.
        with contextlib.suppress(redis_access.RedisAwayError):
            redis_access.run(lambda client: client.publish(channel(), str(task_id)))


class Notifier:
    def __init__(self, pace: Pace = _PACE) -> None:
        self._pace = pace
        self._loop = asyncio.get_running_loop()
        self._bells: dict[UUID, set[asyncio.Event]] = {}
        # Tasks that settled between the commit of a request and its first wait.
        self._recent: dict[UUID, None] = {}
        self._occupied = asyncio.Event()
        self._look = asyncio.Event()
        self._background: set[asyncio.Task[None]] = set()
        self._complaint = redis_access.Complaint()

    @contextlib.contextmanager
    def watching(self, task_id: UUID) -> Iterator[asyncio.Event]:
        """Give the bell of one waiting request; clear it before looking at the row."""
        self._start()
        bell = asyncio.Event()
        if task_id in self._recent:
            bell.set()
        self._bells.setdefault(task_id, set()).add(bell)
        self._occupied.set()
        try:
            yield bell
        finally:
            self._forget(task_id, bell)

    def ring(self, task_id: UUID) -> None:
        self._recent.pop(task_id, None)
        self._recent[task_id] = None
        if len(self._recent) > _REMEMBERED:
            del self._recent[next(iter(self._recent))]
        for bell in self._bells.get(task_id, ()):
            bell.set()

    def ring_from_thread(self, task_id: UUID) -> None:
        # The loop may have ended since.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self.ring, task_id)

    async def close(self) -> None:
        background = list(self._background)
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)
        self._background.clear()

    def _forget(self, task_id: UUID, bell: asyncio.Event) -> None:
        bells = self._bells[task_id]
        bells.discard(bell)
        if not bells:
            del self._bells[task_id]
        if not self._bells:
            self._occupied.clear()

    def _start(self) -> None:
        if self._background:
            return
        self._spawn(self._poll_for_ever())
        if redis_access.is_configured():
            self._spawn(self._listen_for_ever())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._note_end)

    def _note_end(self, task: asyncio.Task[None]) -> None:
        self._background.discard(task)
        if not task.cancelled() and task.exception():
            # The next request that waits starts all of it again.
            logger.error("The notifier ended", exc_info=task.exception())
            for other in self._background:
                other.cancel()

    async def _poll_for_ever(self) -> None:
        with_redis = redis_access.is_configured()
        interval = self._pace.poll if with_redis else self._pace.poll_without_redis
        while True:
            await self._occupied.wait()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._look.wait(), interval)
            self._look.clear()
            await self._poll()

    async def _poll(self) -> None:
        waited_for = list(self._bells)
        if not waited_for:
            return
        try:
            settled = await executor.run(_find_settled, waited_for)
        except (DatabaseError, executor.OverdueError) as error:
            if self._complaint.is_due():
                logger.warning(
                    "Waiting tasks cannot be read",
                    extra={"error": type(error).__name__},
                )
            return
        for task_id in settled:
            for bell in self._bells.get(task_id, ()):
                bell.set()

    async def _listen_for_ever(self) -> None:
        while True:
            try:
                await self._listen()
            except (RedisError, OSError) as error:
                if self._complaint.is_due():
                    logger.warning(
                        "The channel of settled tasks is away; polling",
                        extra={"error": type(error).__name__},
                    )
            await asyncio.sleep(self._pace.reconnect)

    async def _listen(self) -> None:
        """Receive until something is wrong; raise what it is."""
        client = redis.asyncio.Redis.from_url(
            conf.redis_url(),
            decode_responses=True,
            socket_connect_timeout=redis_access.CALL_SECONDS,
            socket_timeout=self._pace.ping,
            retry=Retry(NoBackoff(), 0),
        )
        async with client, client.pubsub() as pubsub:
            await pubsub.subscribe(channel())
            pinging = asyncio.create_task(self._ping_for_ever(client))
            try:
                await self._receive(pubsub)
            finally:
                pinging.cancel()
                await asyncio.gather(pinging, return_exceptions=True)

    async def _receive(self, pubsub: PubSub) -> None:
        while True:
            message = await pubsub.get_message(timeout=self._pace.silence)
            if message is None:
                raise TimeoutError
            if message["type"] == "subscribe":
                # What was published while nobody listened is lost.
                self._look.set()
            elif message["type"] == "message":
                self._hear(message["data"])

    def _hear(self, line: str) -> None:
        # Pings are heard here too, and mean nothing.
        with contextlib.suppress(ValueError):
            self.ring(UUID(line))

    async def _ping_for_ever(self, client: redis.asyncio.Redis) -> None:
        name = f"ping-{uuid.uuid4().hex}"
        while True:
            await asyncio.sleep(self._pace.ping)
            # A failed ping is followed by silence, which the receiver notices.
            with contextlib.suppress(RedisError, OSError):
                await client.publish(channel(), name)


def _find_settled(task_ids: Iterable[UUID]) -> list[UUID]:
    settled = Task.objects.filter(id__in=task_ids, state__in=SETTLED_STATES)
    return list(settled.values_list("id", flat=True))


class _Notifiers:
    """The notifiers of this process, by the event loop they belong to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_loop: dict[asyncio.AbstractEventLoop, Notifier] = {}

    def here(self) -> Notifier:
        loop = asyncio.get_running_loop()
        with self._lock:
            self._drop_closed()
            if loop not in self._by_loop:
                self._by_loop[loop] = Notifier()
            return self._by_loop[loop]

    def pop(self) -> Notifier | None:
        with self._lock:
            return self._by_loop.pop(asyncio.get_running_loop(), None)

    def all(self) -> list[Notifier]:
        with self._lock:
            return list(self._by_loop.values())

    def _drop_closed(self) -> None:
        for loop in [loop for loop in self._by_loop if loop.is_closed()]:
            del self._by_loop[loop]


_notifiers = _Notifiers()
notifier = _notifiers.here


async def close() -> None:
    """End this event loop's notifier; the next wait would start another."""
    ending = _notifiers.pop()
    if ending:
        await ending.close()
