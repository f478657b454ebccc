from __future__ import annotations

import concurrent.futures
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.db import connections

from a2a_protocol.errors import ProtocolError
from a2a_server.limits import Place, Slot, WaitingSlots
from a2a_server.models import WaitingSlot
from agent_runs import clock

if TYPE_CHECKING:
    from pytest_django.fixtures import SettingsWrapper

# Nothing listens there; a connection is refused at once.
NO_REDIS = "redis://127.0.0.1:9/0"


@pytest.fixture(params=list(Place), ids=lambda place: place.value)
def place(request: pytest.FixtureRequest, settings: SettingsWrapper, db: None) -> Place:
    """Each place where slots may live."""
    place: Place = request.param
    if place is Place.REDIS:
        settings.A2A_REDIS_URL = request.getfixturevalue("redis_url")
    else:
        settings.A2A_REDIS_URL = NO_REDIS if place is Place.PROCESS else ""
    return place


def is_refused(slots: WaitingSlots, client_id: int, task_limit: int = 100) -> bool:
    try:
        slots.acquire(client_id, task_limit)
    except ProtocolError:
        return True
    return False


def test_says_when_to_try_again(settings: SettingsWrapper, place: Place) -> None:
    """S14, S46."""
    settings.A2A_SERVER_MAX_WAITING_REQUESTS = 1
    slots = WaitingSlots()
    slots.acquire(1, 10)

    with pytest.raises(ProtocolError) as caught:
        slots.acquire(2, 10)

    assert caught.value.reason == "WAITING_CAPACITY_EXHAUSTED"
    assert (caught.value.http_status, caught.value.retry_after) == (503, 5)


def test_gives_a_slot_where_slots_live(place: Place) -> None:
    slot = WaitingSlots().acquire(1, 10)

    assert slot.place is place
    assert slot.client_id == 1


def test_refuses_one_more_than_the_installation_holds(
    settings: SettingsWrapper, place: Place
) -> None:
    """S46."""
    settings.A2A_SERVER_MAX_WAITING_REQUESTS = 3
    slots = WaitingSlots()
    taken = [slots.acquire(client_id, 10) for client_id in (1, 2, 3)]

    assert is_refused(slots, 4)
    slots.release(taken[0])
    assert not is_refused(slots, 4)


@pytest.mark.parametrize(("task_limit", "bound"), [(1, 4), (2, 4), (3, 6)])
def test_refuses_one_more_than_a_client_may_have(
    place: Place, task_limit: int, bound: int
) -> None:
    """S46: max(4, twice its task limit)."""
    slots = WaitingSlots()
    for _ in range(bound):
        slots.acquire(1, task_limit)

    assert is_refused(slots, 1, task_limit)
    assert not is_refused(slots, 2, task_limit)


def test_takes_a_slot_back_twice_without_harm(place: Place) -> None:
    slots = WaitingSlots()
    slot = slots.acquire(1, 10)

    slots.release(slot)
    slots.release(slot)

    assert not is_refused(slots, 1)


@pytest.mark.django_db
@pytest.mark.usefixtures("without_redis")
def test_slots_of_a_killed_process_expire(settings: SettingsWrapper) -> None:
    """S46."""
    settings.A2A_SERVER_MAX_WAITING_REQUESTS = 1
    past = clock.database_now() - timedelta(seconds=1)
    WaitingSlot.objects.create(client_id=1, expires_at=past)

    assert not is_refused(WaitingSlots(), 1)


@pytest.mark.django_db
@pytest.mark.usefixtures("without_redis")
def test_a_slot_outlives_the_longest_wait(settings: SettingsWrapper) -> None:
    settings.A2A_SERVER_BLOCKING_WAIT_SECONDS = 100

    WaitingSlots().acquire(1, 10)

    expires_at = WaitingSlot.objects.get().expires_at
    assert expires_at > clock.database_now() + timedelta(seconds=100)


@pytest.mark.django_db
def test_giving_back_never_fails_while_redis_is_away(settings: SettingsWrapper) -> None:
    settings.A2A_REDIS_URL = NO_REDIS
    slot = Slot(id=WaitingSlot().id, client_id=1, place=Place.REDIS)

    WaitingSlots().release(slot)


@pytest.mark.django_db(transaction=True)
def test_holds_the_bound_under_concurrency(settings: SettingsWrapper) -> None:
    """S46: exact, or the bound would mean nothing."""
    settings.A2A_SERVER_MAX_WAITING_REQUESTS = 5
    slots = WaitingSlots()

    def acquire(client_id: int) -> bool:
        try:
            return not is_refused(slots, client_id)
        finally:
            connections.close_all()

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        won = list(pool.map(acquire, range(20)))

    assert won.count(True) == 5
