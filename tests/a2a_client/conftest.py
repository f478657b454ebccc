from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.a2a_client.peer import Peer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django.fixtures import SettingsWrapper


@pytest.fixture
def loopback(settings: SettingsWrapper) -> None:
    """The guard lets out to addresses of loopback, as in a trial on one machine."""
    settings.DEBUG = True
    settings.A2A_EGRESS_ALLOW_LOOPBACK = True
    # Under test 127.0.0.1 is a host of this installation, too.
    settings.A2A_EGRESS_OWN_HOSTS = []


@pytest.fixture
def peer(loopback: None) -> Iterator[Peer]:
    with Peer() as peer:
        yield peer


@pytest.fixture
def client_role(settings: SettingsWrapper) -> None:
    settings.A2A_CLIENT_ENABLED = True
