"""What tests of the server role share: keys of their own, an end for its threads, and two
clients of one skill.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

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
