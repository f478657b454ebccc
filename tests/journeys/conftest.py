from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.drill.stand import Stand, stand

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def drill(tmp_path: Path, postgresql: str, redis_url: str) -> Iterator[Stand]:
    """One web process, the drill's skills and one client; no worker yet."""
    with stand(tmp_path, database=postgresql, redis_url=redis_url) as made:
        made.open()
        yield made
