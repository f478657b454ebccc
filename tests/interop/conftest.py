"""The conformance stand, and the official SDKs as its clients."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests import conftest
from tests.conformance import serve, tokens
from tests.interop.sdk import (
    JAVASCRIPT_AGENT,
    PYTHON_AGENT,
    SDK,
    Agent,
    javascript_command,
    python_command,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_django.fixtures import SettingsWrapper

_COMMANDS = {"python": python_command, "javascript": javascript_command}
_ENVIRONMENT = {"PATH": os.environ["PATH"]}
_AGENTS = {"python": PYTHON_AGENT, "javascript": JAVASCRIPT_AGENT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    origin: str
    base_url: str
    token: str


@contextmanager
def _served(directory: Path, *, deduplicate: bool) -> Iterator[Served]:
    token = tokens.make_token()
    with serve.stand(directory, token=token, deduplicate=deduplicate) as site:
        yield Served(origin=site.origin, base_url=site.base_url, token=token)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The stand as kits are given it."""
    with _served(tmp_path_factory.mktemp("stand"), deduplicate=False) as made:
        yield made


@pytest.fixture(scope="session")
def deduplicating(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The stand as the product is shipped."""
    with _served(tmp_path_factory.mktemp("stand"), deduplicate=True) as made:
        yield made


@contextmanager
def _started(name: str) -> Iterator[SDK]:
    with SDK(_installed(name, _COMMANDS[name]()), _ENVIRONMENT) as started:
        yield started


def _installed(name: str, command: list[str]) -> list[str]:
    if not command:
        conftest.missing_service(f"The {name} SDK is not installed: make interop.")
    return command


# An SDK comes before the stand, which need not be started where there is none.


@pytest.fixture(scope="session")
def python() -> Iterator[SDK]:
    with _started("python") as sdk:
        yield sdk


@pytest.fixture(scope="session")
def javascript() -> Iterator[SDK]:
    with _started("javascript") as sdk:
        yield sdk


@pytest.fixture(scope="session", params=list(_COMMANDS))
def language(request: pytest.FixtureRequest) -> str:
    named: str = request.param
    return named


@pytest.fixture(scope="session")
def sdk(request: pytest.FixtureRequest, language: str) -> SDK:
    """What the stand's tests go through, with one SDK after the other."""
    made: SDK = request.getfixturevalue(f"{language}_sdk")
    return made


@pytest.fixture(scope="session")
def rival(language: str, served: Served) -> Iterator[SDK]:
    """The same SDK and client once more, in a process of its own."""
    with _started(language) as started:
        base_url = served.base_url if language == "python" else served.origin
        started.connect("client", base_url, served.token)
        yield started


@pytest.fixture(scope="session")
def python_sdk(python: SDK, served: Served) -> SDK:
    python.connect("client", served.base_url, served.token)
    return python


@pytest.fixture(scope="session")
def javascript_sdk(javascript: SDK, served: Served) -> SDK:
    javascript.connect("client", served.origin, served.token)
    return javascript


# --- The SDKs as our remote agents ----------------------------------------------------


@pytest.fixture(scope="session")
def agents(language: str) -> Iterator[Agent]:
    """Agents on one SDK after the other."""
    command = _installed(language, _COMMANDS[language](_AGENTS[language]))
    with Agent(command, _ENVIRONMENT) as started:
        yield started


@pytest.fixture
def delegates(settings: SettingsWrapper) -> None:
    """The client role is on and reaches loopback, as in a trial on one machine."""
    settings.A2A_CLIENT_ENABLED = True
    settings.DEBUG = True
    settings.A2A_EGRESS_ALLOW_LOOPBACK = True
    # Under test 127.0.0.1 is a host of this installation, too.
    settings.A2A_EGRESS_OWN_HOSTS = []
