from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests import redis_server
from tests.drill.stand import Stand, stand
from tests.faults import report

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.redis_server import RedisServer


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if lines := list(report.table()):
        terminalreporter.section("accidents and what came of them")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.fixture
def drill(tmp_path: Path, postgresql: str, redis_url: str) -> Iterator[Stand]:
    """A web process, the drill's skills and one client; no worker yet."""
    with stand(tmp_path, database=postgresql, redis_url=redis_url) as made:
        made.open()
        yield made


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[RedisServer]:
    with redis_server.running(tmp_path) as server:
        yield server


@pytest.fixture(scope="module")
def module_broker(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[RedisServer]:
    with redis_server.running(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def drill_with_broker(
    tmp_path: Path, postgresql: str, broker: RedisServer
) -> Iterator[Stand]:
    """As `drill`, on a Redis that may be stopped."""
    with stand(tmp_path, database=postgresql, redis_url=broker.url) as made:
        made.open()
        yield made
