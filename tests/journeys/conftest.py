from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.drill.stand import Stand, stand

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def drill(tmp_path: Path, postgresql: str, redis_url: str) -> Iterator[Stand]:
    """A web process, the drill's skills and one client; no worker yet."""
    with stand(tmp_path, database=postgresql, redis_url=redis_url) as made:
        made.open()
        yield made


@pytest.fixture(scope="module")
def quiet(
    tmp_path_factory: pytest.TempPathFactory, postgresql: str, redis_url: str
) -> Iterator[Stand]:
    """The same for a whole module whose tests only pretend that there is a worker."""
    directory = tmp_path_factory.mktemp("quiet")
    with stand(directory, database=postgresql, redis_url=redis_url) as made:
        made.open()
        yield made
