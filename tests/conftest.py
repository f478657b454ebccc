"""What every test may ask for: the cast, services, and a clean registry of handlers.

The cast is three people with no permission at all: `owner` owns what a test is about,
`colleague` may be given a part in it, `stranger` must never see it.
"""

from __future__ import annotations

import os
from contextlib import closing
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
from django.conf import settings
from redis import Redis

from agent_runs import handlers
from tests import factories, processes
from tests.settings import TEST_DIR, TEST_REDIS_URL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from django.contrib.auth.models import User


# What drives a browser is installed for `make browser` only.
collect_ignore = [] if find_spec("selenium") else ["browser"]


@pytest.fixture
def owner(db: None) -> User:
    return factories.make_user("owner")


@pytest.fixture
def colleague(db: None) -> User:
    return factories.make_user("colleague")


@pytest.fixture
def stranger(db: None) -> User:
    return factories.make_user("stranger")


@pytest.fixture
def superuser(db: None) -> User:
    return factories.make_user("superuser", is_superuser=True, is_staff=True)


@pytest.fixture(autouse=True)
def _handlers_as_before() -> Iterator[None]:
    """Handlers that a test registers are gone after it."""
    before = handlers.registered()

    yield

    for handler in handlers.registered():
        handlers.unregister(handler.name)
    for handler in before:
        handlers.register(handler)


@pytest.fixture(autouse=True)
def _redis_as_before() -> Iterator[None]:
    """What a test counted or took in the Redis of this run is gone after it."""
    yield

    if TEST_REDIS_URL:
        with closing(Redis.from_url(TEST_REDIS_URL)) as client:
            for key in client.scan_iter(f"*{TEST_DIR.name}*", count=1000):
                client.delete(key)


def missing_service(sentence: str) -> None:
    """Skip where a service is optional, fail where it was promised."""
    if os.environ.get("REQUIRE_SERVICES"):
        pytest.fail(sentence)
    pytest.skip(sentence)


@pytest.fixture(scope="session")
def redis_url() -> str:
    """The Redis that this run was given; see `TEST_REDIS_URL`."""
    if not settings.A2A_REDIS_URL:
        missing_service("TEST_REDIS_URL names no Redis.")
    return str(settings.A2A_REDIS_URL)


@pytest.fixture(scope="session")
def postgresql() -> str:
    """Only for tests whose subject is PostgreSQL; see `TEST_DATABASE_URL`."""
    if not settings.DATABASES["default"]["ENGINE"].endswith("postgresql"):
        missing_service("TEST_DATABASE_URL names no PostgreSQL.")
    return processes.POSTGRESQL


@pytest.fixture
def full_site(
    tmp_path: Path, postgresql: str, redis_url: str
) -> Iterator[processes.Installation]:
    """An installation on PostgreSQL and Redis; nothing runs in it yet."""
    with processes.installation(
        tmp_path, database=postgresql, redis_url=redis_url
    ) as site:
        yield site


@pytest.fixture
def embedded_site(tmp_path: Path) -> Iterator[processes.Installation]:
    """An installation on SQLite without a broker; nothing runs in it yet."""
    with processes.installation(tmp_path) as site:
        yield site
