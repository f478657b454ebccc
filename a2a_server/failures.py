"""How often authentication failed from an address (S23).

A fixed window opens with an address's first failure. Counts live in Redis where Redis is
configured, else in a table of the database; while a configured Redis is away, in this
process. The number of counted addresses is bounded everywhere: beyond it the address
whose window ends first is forgotten.

These functions block; they are called in threads.
"""

from __future__ import annotations

import math
import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db import transaction

from a2a_server import conf, redis_access
from a2a_server.models import AuthFailure
from agent_runs.clock import database_now

if TYPE_CHECKING:
    from datetime import datetime

    from a2a_server.conf import FailureLimit

MAX_ADDRESSES = 10_000


def count_failure(address: str, *, most: int = MAX_ADDRESSES) -> int | None:
    """Count one more. The seconds to wait where there were too many, else None."""
    limit = conf.auth_failures()
    if not redis_access.is_configured():
        return _count_in_table(address, limit, most)
    try:
        return _count_in_redis(address, limit, most)
    except redis_access.RedisAwayError:
        return _own_counts.count(address, limit, most)


def _seconds(left: timedelta) -> int:
    return max(1, math.ceil(left.total_seconds()))


_COUNT = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local count = redis.call('INCR', KEYS[2])
if count == 1 then
  redis.call('PEXPIRE', KEYS[2], ARGV[2])
  if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then
    redis.call('DEL', KEYS[1] .. ':' .. redis.call('ZPOPMIN', KEYS[1])[1])
  end
  redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return {count, redis.call('PTTL', KEYS[2])}
"""


def _count_in_redis(address: str, limit: FailureLimit, most: int) -> int | None:
    everyone = conf.redis_key("failures")
    milliseconds = int(limit.window.total_seconds() * 1000)
    count, left = redis_access.run(
        lambda client: client.register_script(_COUNT)(
            [everyone, f"{everyone}:{address}"], [address, milliseconds, most]
        )
    )
    return _seconds(timedelta(milliseconds=left)) if count > limit.count else None


def _count_in_table(address: str, limit: FailureLimit, most: int) -> int | None:
    now = database_now()
    known = AuthFailure.objects.filter(address=address).first()
    # Whoever is over the limit already costs no write.
    if known and known.expires_at > now and known.count >= limit.count:
        return _seconds(known.expires_at - now)
    if known is None:
        _make_room(now, most)
    return _add_to_table(address, limit)


def _add_to_table(address: str, limit: FailureLimit) -> int | None:
    with transaction.atomic():
        now = database_now()
        row, _ = AuthFailure.objects.select_for_update().get_or_create(
            address=address, defaults={"expires_at": now + limit.window}
        )
        if row.expires_at <= now:
            row.count, row.expires_at = 0, now + limit.window
        row.count += 1
        row.save(update_fields=["count", "expires_at"])
    return _seconds(row.expires_at - now) if row.count > limit.count else None


def _make_room(now: datetime, most: int) -> None:
    AuthFailure.objects.filter(expires_at__lte=now).delete()
    if AuthFailure.objects.count() >= most:
        first_to_end = AuthFailure.objects.order_by("expires_at").first()
        if first_to_end:
            first_to_end.delete()


class _OwnCounts:
    """Counts of this process; the oldest window stands first in the dictionary."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, tuple[int, float]] = {}

    def count(self, address: str, limit: FailureLimit, most: int) -> int | None:
        now = time.monotonic()
        with self._lock:
            count, ends = self._counts.get(address, (0, float("-inf")))
            if ends <= now:
                self._counts.pop(address, None)
                self._make_room(most)
                count, ends = 0, now + limit.window.total_seconds()
            self._counts[address] = (count + 1, ends)
        return max(1, math.ceil(ends - now)) if count >= limit.count else None

    def _make_room(self, most: int) -> None:
        while len(self._counts) >= most:
            del self._counts[next(iter(self._counts))]


_own_counts = _OwnCounts()
