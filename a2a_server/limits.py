"""How many requests may wait at once, in the installation and of one client (S46).

A slot lives in Redis where Redis is configured, else in a table of the database. Redis
configured but away: every process counts its own until it is back, and nobody is refused
for that. A slot is given back where it was taken, and expires by itself, so that a killed
process leaks none.

These functions block; they are called in threads.
"""

from __future__ import annotations

import threading
import time
import uuid
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from django.db import DatabaseError, connection, transaction
from django.db.models import Count, Q

from a2a_server import conf, redis_access
from a2a_server.errors import Reason, refuse
from a2a_server.models import WaitingSlot
from agent_runs.clock import database_now

if TYPE_CHECKING:
    from uuid import UUID

# A slot outlives the longest wait by what the steps before and after it may take.
MARGIN = timedelta(seconds=30)
_LEAST_PER_CLIENT = 4


class Place(Enum):
    REDIS = "redis"
    TABLE = "table"
    PROCESS = "process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    id: UUID
    client_id: int
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    installation: int
    client: int

    def leave_room(self, *, taken: int, own: int) -> bool:
        return taken < self.installation and own < self.client


class _Store(Protocol):
    def take(self, slot: Slot, bounds: Bounds) -> bool: ...

    def give_back(self, slot: Slot) -> None: ...


class _RedisSlots:
    _TAKE = """
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    for _, key in ipairs(KEYS) do
      redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
    end
    if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3])
      or redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[4]) then
      return 0
    end
    for _, key in ipairs(KEYS) do
      redis.call('ZADD', key, now + ARGV[2], ARGV[1])
      redis.call('PEXPIRE', key, ARGV[2])
    end
    return 1
    """

    def take(self, slot: Slot, bounds: Bounds) -> bool:
        seconds = _lifetime().total_seconds()
        arguments: list[str | int] = [str(slot.id), int(seconds * 1000)]
        arguments += [bounds.installation, bounds.client]
        keys = self._keys(slot)
        return bool(
            redis_access.run(
                lambda client: client.register_script(self._TAKE)(keys, arguments)
            )
        )

    def give_back(self, slot: Slot) -> None:
        def remove(client: Any) -> None:
            with client.pipeline(transaction=False) as pipeline:
                for key in self._keys(slot):
                    pipeline.zrem(key, str(slot.id))
                pipeline.execute()

        redis_access.run(remove)

    def _keys(self, slot: Slot) -> list[str]:
        everyone = conf.redis_key("waiting")
        return [everyone, f"{everyone}:{slot.client_id}"]


class _TableSlots:
    # Any number will do that no other lock of this database has.
    _LOCK = 4_103_266_201

    def take(self, slot: Slot, bounds: Bounds) -> bool:
        # Durable: inside another transaction the lock would be held until its end.
        with transaction.atomic(durable=True):
            self._lock()
            now = database_now()
            WaitingSlot.objects.filter(expires_at__lte=now).delete()
            counts = WaitingSlot.objects.aggregate(
                taken=Count("id"), own=Count("id", filter=Q(client_id=slot.client_id))
            )
            if not bounds.leave_room(**counts):
                return False
            WaitingSlot.objects.create(
                id=slot.id, client_id=slot.client_id, expires_at=now + _lifetime()
            )
            return True

    def give_back(self, slot: Slot) -> None:
        WaitingSlot.objects.filter(id=slot.id).delete()

    def _lock(self) -> None:
        # Two counts at the same moment would both find room. SQLite has one writer.
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [self._LOCK])


class _ProcessSlots:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: dict[UUID, tuple[int, float]] = {}

    def take(self, slot: Slot, bounds: Bounds) -> bool:
        now = time.monotonic()
        with self._lock:
            self._taken = {
                id_: value for id_, value in self._taken.items() if value[1] > now
            }
            own = sum(1 for value in self._taken.values() if value[0] == slot.client_id)
            if not bounds.leave_room(taken=len(self._taken), own=own):
                return False
            expires = now + _lifetime().total_seconds()
            self._taken[slot.id] = (slot.client_id, expires)
            return True

    def give_back(self, slot: Slot) -> None:
        with self._lock:
            self._taken.pop(slot.id, None)


class WaitingSlots:
    def __init__(self) -> None:
        self._stores: dict[Place, _Store] = {
            Place.REDIS: _RedisSlots(),
            Place.TABLE: _TableSlots(),
            Place.PROCESS: _ProcessSlots(),
        }

    def acquire(self, client_id: int, task_limit: int) -> Slot:
        """Raise WAITING_CAPACITY_EXHAUSTED where no slot is free.

        Call it outside `transaction.atomic()`: a slot outlives a refusal's rollback.
        """
        bounds = Bounds(
            installation=conf.max_waiting_requests(),
            client=max(_LEAST_PER_CLIENT, 2 * task_limit),
        )
        if not redis_access.is_configured():
            return self._take(Place.TABLE, client_id, bounds)
        try:
            return self._take(Place.REDIS, client_id, bounds)
        except redis_access.RedisAwayError:
            return self._take(Place.PROCESS, client_id, bounds)

    def release(self, slot: Slot) -> None:
        """Never raises; a slot that cannot be given back expires by itself."""
        try:
            self._stores[slot.place].give_back(slot)
        except (redis_access.RedisAwayError, DatabaseError):
            return

    def _take(self, place: Place, client_id: int, bounds: Bounds) -> Slot:
        slot = Slot(id=uuid.uuid4(), client_id=client_id, place=place)
        if not self._stores[place].take(slot, bounds):
            raise refuse(Reason.WAITING_CAPACITY_EXHAUSTED)
        return slot


def _lifetime() -> timedelta:
    return conf.blocking_wait() + MARGIN


waiting_slots = WaitingSlots()
