from __future__ import annotations

import asyncio
from typing import Any

from a2a_project.lifespan import Lifespan
from tests.asgi_peer import ask_once, elsewhere, make_scope


def test_answers_the_servers_start_and_stop() -> None:
    sent: list[str] = []
    events = iter(["lifespan.startup", "lifespan.shutdown"])

    async def receive() -> dict[str, Any]:
        return {"type": next(events)}

    async def send(message: Any) -> None:
        sent.append(message["type"])

    asyncio.run(Lifespan(elsewhere)({"type": "lifespan"}, receive, send))

    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


def test_passes_requests_on() -> None:
    assert ask_once(Lifespan(elsewhere), make_scope()).body == b"elsewhere"
