from __future__ import annotations

import logging
import socket
import time
from typing import TYPE_CHECKING

import pytest

from a2a_server import redis_access
from tests.relay import Relay

if TYPE_CHECKING:
    from collections.abc import Iterator

    import redis
    from pytest_django.fixtures import SettingsWrapper


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Takes connections and answers nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def _ping() -> bool:
    return bool(redis_access.run(lambda client: client.ping()))


def _use(settings: SettingsWrapper, port: int) -> None:
    settings.A2A_REDIS_URL = f"redis://127.0.0.1:{port}/0"


def test_gives_up_on_a_server_that_hangs(
    settings: SettingsWrapper, silent_port: int
) -> None:
    """A request must not wait for what it can do without."""
    _use(settings, silent_port)
    started = time.monotonic()

    with pytest.raises(redis_access.RedisAwayError):
        _ping()

    assert time.monotonic() - started < 2 * redis_access.CALL_SECONDS


def test_does_not_try_again_at_once(
    settings: SettingsWrapper, silent_port: int
) -> None:
    """Or every request would wait for its own time-out."""
    _use(settings, silent_port)
    with pytest.raises(redis_access.RedisAwayError):
        _ping()
    started = time.monotonic()

    with pytest.raises(redis_access.RedisAwayError):
        _ping()

    assert time.monotonic() - started < redis_access.CALL_SECONDS / 2


def test_complains_once_and_not_with_the_url(
    settings: SettingsWrapper, silent_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    """S23: logged once a minute."""
    caplog.set_level(logging.WARNING)
    settings.A2A_REDIS_URL = f"redis://:secret@127.0.0.1:{silent_port}/0"

    for _ in range(3):
        with pytest.raises(redis_access.RedisAwayError):
            _ping()

    lines = [r for r in caplog.records if r.name == redis_access.__name__]
    assert len(lines) == 1
    assert "secret" not in str(vars(lines[0]))


def test_works_again_when_redis_is_back(redis_url: str) -> None:
    """After the pause that follows a failure, and not before it has passed."""
    now = 0.0

    def ping(client: redis.Redis) -> bool:
        return bool(client.ping())

    with Relay.to(redis_url) as relay:
        link = redis_access.Link(relay.url, clock=lambda: now)
        assert link.run(ping)
        relay.pause()
        with pytest.raises(redis_access.RedisAwayError):
            link.run(ping)
        relay.resume()

        now = redis_access.PAUSE_SECONDS - 0.1
        with pytest.raises(redis_access.RedisAwayError):
            link.run(ping)
        now = redis_access.PAUSE_SECONDS + 0.1
        assert link.run(ping)
        link.close()


def test_is_configured_by_its_url(settings: SettingsWrapper) -> None:
    settings.A2A_REDIS_URL = ""
    assert not redis_access.is_configured()

    settings.A2A_REDIS_URL = "redis://127.0.0.1/0"
    assert redis_access.is_configured()
