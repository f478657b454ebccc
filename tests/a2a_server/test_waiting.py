from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING

import pytest
import redis.asyncio
from django.db import connection

from a2a_server import waiting
from a2a_server.models import Task, TaskState
from a2a_server.waiting import Notifier, Pace
from tests import factories
from tests.relay import Relay

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from uuid import UUID

    from pytest_django.fixtures import SettingsWrapper

pytestmark = pytest.mark.django_db(transaction=True)

# Nothing listens there; a connection is refused at once.
NO_REDIS = "redis://127.0.0.1:9/0"
ENOUGH = 5.0
SLOW_POLL = Pace(poll=60, poll_without_redis=60)
FAST_POLL = Pace(poll=0.05, poll_without_redis=0.05)


def hears(
    task_id: UUID,
    pace: Pace,
    during: Callable[[Notifier], Awaitable[None]],
    *,
    seconds: float = ENOUGH,
) -> bool:
    """Whether the bell of a task rings while and after `during` runs."""

    async def listen() -> bool:
        notifier = Notifier(pace)
        try:
            with notifier.watching(task_id) as bell:
                await during(notifier)
                await asyncio.wait_for(bell.wait(), seconds)
                return True
        except TimeoutError:
            return False
        finally:
            await notifier.close()

    return asyncio.run(listen())


async def nothing(notifier: Notifier) -> None:
    """Leave it to the poll."""


def test_rings_in_its_own_process_without_redis(settings: SettingsWrapper) -> None:
    settings.A2A_REDIS_URL = ""
    task_id = uuid.uuid4()

    async def wait() -> None:
        with waiting.notifier().watching(task_id) as bell:
            await asyncio.to_thread(waiting.notify, task_id, TaskState.COMPLETED)
            await asyncio.wait_for(bell.wait(), ENOUGH)
        await waiting.close()

    asyncio.run(wait())


@pytest.mark.parametrize("url", ["", NO_REDIS], ids=["none", "away"])
def test_the_poll_finds_what_nobody_announced(
    settings: SettingsWrapper, url: str
) -> None:
    """S46: another process settled it, and there is no channel."""
    settings.A2A_REDIS_URL = url
    task = factories.make_task(TaskState.COMPLETED)

    assert hears(task.id, FAST_POLL, nothing)


@pytest.mark.parametrize("state", [TaskState.SUBMITTED, TaskState.WORKING])
def test_the_poll_leaves_active_tasks_alone(
    settings: SettingsWrapper, state: TaskState
) -> None:
    settings.A2A_REDIS_URL = ""
    task = factories.make_task(state)

    assert not hears(task.id, FAST_POLL, nothing, seconds=0.3)


@pytest.mark.parametrize("state", sorted(waiting.SETTLED_STATES))
def test_every_state_that_ends_a_wait_is_found(
    settings: SettingsWrapper, state: str
) -> None:
    """S44."""
    settings.A2A_REDIS_URL = ""
    task = factories.make_task()
    Task.objects.filter(id=task.id).update(state=state)

    assert hears(task.id, FAST_POLL, nothing)


def test_what_settled_just_before_the_wait_rings_at_once(
    settings: SettingsWrapper,
) -> None:
    """Between a request's commit and its first wait, a fast worker may be done."""
    settings.A2A_REDIS_URL = ""
    task_id = uuid.uuid4()

    async def wait() -> bool:
        notifier = Notifier(SLOW_POLL)
        notifier.ring(task_id)
        with notifier.watching(task_id) as bell:
            is_set = bell.is_set()
        await notifier.close()
        return is_set

    assert asyncio.run(wait())


def test_remembers_no_more_than_a_thousand_of_them(settings: SettingsWrapper) -> None:
    settings.A2A_REDIS_URL = ""
    first, second = uuid.uuid4(), uuid.uuid4()

    async def ring_often() -> tuple[bool, bool]:
        notifier = Notifier(SLOW_POLL)
        notifier.ring(first)
        notifier.ring(second)
        for _ in range(999):
            notifier.ring(uuid.uuid4())
        with notifier.watching(first) as one, notifier.watching(second) as two:
            found = one.is_set(), two.is_set()
        await notifier.close()
        return found

    assert asyncio.run(ring_often()) == (False, True)


def test_every_request_that_waits_for_a_task_is_rung(
    settings: SettingsWrapper,
) -> None:
    settings.A2A_REDIS_URL = ""
    task_id = uuid.uuid4()

    async def wait() -> tuple[bool, bool]:
        notifier = Notifier(SLOW_POLL)
        with notifier.watching(task_id) as one, notifier.watching(task_id) as two:
            notifier.ring(task_id)
            found = one.is_set(), two.is_set()
        await notifier.close()
        return found

    assert asyncio.run(wait()) == (True, True)


def test_states_that_nobody_waits_for_are_not_announced(
    settings: SettingsWrapper,
) -> None:
    settings.A2A_REDIS_URL = ""
    task_id = uuid.uuid4()

    async def wait() -> bool:
        with waiting.notifier().watching(task_id) as bell:
            waiting.notify(task_id, TaskState.WORKING)
            await asyncio.sleep(0)
            is_set = bell.is_set()
        await waiting.close()
        return is_set

    assert not asyncio.run(wait())


def test_notify_never_raises_while_redis_is_away(settings: SettingsWrapper) -> None:
    settings.A2A_REDIS_URL = NO_REDIS

    waiting.notify(uuid.uuid4(), TaskState.COMPLETED)


def test_hears_what_another_process_publishes(
    settings: SettingsWrapper, redis_url: str
) -> None:
    settings.A2A_REDIS_URL = redis_url
    task_id = uuid.uuid4()

    async def publish(notifier: Notifier) -> None:
        async with redis.asyncio.Redis.from_url(redis_url) as client:
            await _subscribed(client)
            await client.publish(waiting.channel(), str(task_id))

    assert hears(task_id, SLOW_POLL, publish)


def test_looks_again_after_a_lost_connection(
    settings: SettingsWrapper, redis_url: str
) -> None:
    """What was published meanwhile is lost, so every waiting task is looked at."""
    task = factories.make_task()

    async def lose(notifier: Notifier) -> None:
        async with redis.asyncio.Redis.from_url(redis_url) as client:
            await _subscribed(client)
            # As another process would, which nobody here hears of.
            await asyncio.to_thread(_complete_silently, task.id)
            await relay.cut()

    with Relay.to(redis_url) as relay:
        settings.A2A_REDIS_URL = relay.url
        pace = Pace(poll=60, reconnect=0.05)

        assert hears(task.id, pace, lose)


def test_notices_a_server_that_hangs(settings: SettingsWrapper, redis_url: str) -> None:
    """It closes nothing and answers nothing; its own pings do not come back."""
    task = factories.make_task()

    async def hang(notifier: Notifier) -> None:
        async with redis.asyncio.Redis.from_url(redis_url) as client:
            await _subscribed(client)
            relay.pause()
            await asyncio.to_thread(_complete_silently, task.id)
            await asyncio.sleep(0.3)  # longer than the silence that is tolerated
            relay.resume()

    with Relay.to(redis_url) as relay:
        settings.A2A_REDIS_URL = relay.url
        pace = Pace(poll=60, ping=0.05, silence=0.15, reconnect=0.05)

        assert hears(task.id, pace, hang)


async def _subscribed(client: redis.asyncio.Redis) -> None:
    """Until somebody listens on the channel."""
    async with asyncio.timeout(ENOUGH):
        while not dict(await client.pubsub_numsub(waiting.channel())).popitem()[1]:
            await asyncio.sleep(0.01)


def _complete_silently(task_id: UUID) -> None:
    Task.objects.filter(id=task_id).update(state=TaskState.COMPLETED)
    connection.close()
