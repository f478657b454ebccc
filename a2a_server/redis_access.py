"""The one way to Redis from threads: fast to fail, and quiet about it.

Redis holds nothing here that could not be lost: counts, slots and nudges. So a call
gives up after half a second, nobody tries again for a second after a failure, and the
log hears of it once a minute. Callers catch `RedisAwayError` and go on without.
"""

from __future__ import annotations

import logging
import threading
import time
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from a2a_server import conf

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)

CALL_SECONDS = 0.5
PAUSE_SECONDS = 1.0
LOG_SECONDS = 60.0

T = TypeVar("T")


class RedisAwayError(Exception):
    """Redis is configured and does not answer."""


class Complaint:
    """Says whether it is time to log again that something is away."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = float("-inf")

    def is_due(self) -> bool:
        now = time.monotonic()
        with self._lock:
            if now < self._next:
                return False
            self._next = now + LOG_SECONDS
            return True


class Link:
    """A connection pool and the memory of its last failure."""

    def __init__(
        self, url: str, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._client = redis.Redis.from_url(
            url,
            decode_responses=True,
            socket_timeout=CALL_SECONDS,
            socket_connect_timeout=CALL_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
        self._away_until = float("-inf")
        self._complaint = Complaint()

    def run(self, action: Callable[[redis.Redis], T]) -> T:
        if self._clock() < self._away_until:
            raise RedisAwayError
        try:
            return action(self._client)
        except (redis.RedisError, OSError) as error:
            self._away_until = self._clock() + PAUSE_SECONDS
            if self._complaint.is_due():
                logger.warning("Redis is away", extra={"error": type(error).__name__})
            raise RedisAwayError from error

    def close(self) -> None:
        self._client.close()


def is_configured() -> bool:
    return bool(conf.redis_url())


def run(action: Callable[[redis.Redis], T]) -> T:
    """Call `action` with the client. Raise RedisAwayError where Redis does not answer."""
    return _link(conf.redis_url()).run(action)


@lru_cache(maxsize=4)
def _link(url: str) -> Link:
    return Link(url)
