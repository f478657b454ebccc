"""What tests of the server role share: keys of their own, and an end for its threads."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from a2a_server import executor
from a2a_server.entry import Entry
from tests.asgi_peer import elsewhere

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django.fixtures import SettingsWrapper


@pytest.fixture(autouse=True)
def _redis_keys_of_its_own(settings: SettingsWrapper) -> None:
    settings.A2A_REDIS_PREFIX = f"{settings.A2A_REDIS_PREFIX}-{uuid.uuid4().hex}"


@pytest.fixture(autouse=True)
def _threads_end() -> Iterator[None]:
    """Their connections would keep the test database from being dropped."""
    yield
    executor.close()


@pytest.fixture
def without_redis(settings: SettingsWrapper) -> None:
    settings.A2A_REDIS_URL = ""


@pytest.fixture
def entry() -> Entry:
    return Entry(elsewhere)
