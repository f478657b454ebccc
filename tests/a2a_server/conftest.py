"""What tests of the server role share: keys of their own, an end for its threads, and two
clients of one skill.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest
from django.db import connections

from a2a_server import executor
from a2a_server.entry import Entry
from agent_runs import handlers
from tests import factories
from tests.a2a_server.calling import SilentHandler
from tests.asgi_peer import elsewhere

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django.fixtures import SettingsWrapper

    from a2a_server.models import Client, Profile


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


class LostDatabase:
    """Takes the database away from the threads of the server, and gives it back."""

    def __init__(self) -> None:
        self._settings = connections.settings["default"]
        self._name = self._settings["NAME"]

    def lose(self) -> None:
        executor.close()
        self._settings["NAME"] = "/nowhere/lost"

    def find(self) -> None:
        executor.close()
        self._settings["NAME"] = self._name


@pytest.fixture
def database() -> Iterator[LostDatabase]:
    database = LostDatabase()
    yield database
    database.find()


@pytest.fixture
def entry() -> Entry:
    return Entry(elsewhere)


@pytest.fixture
def profile(db: None) -> Profile:
    """A public skill that uses no model, so that nothing but itself can be off."""
    handlers.register(SilentHandler())
    return factories.make_profile(
        "silent", handler=SilentHandler.name, configuration=None
    )


@pytest.fixture
def partner(profile: Profile) -> Client:
    """May call the one skill."""
    return factories.make_client("partner", profiles=[profile])


@pytest.fixture
def rival(profile: Profile) -> Client:
    """May call the same skill and must see nothing of the partner's."""
    return factories.make_client("rival", profiles=[profile])


@pytest.fixture
def worker(db: None) -> None:
    factories.make_worker()
