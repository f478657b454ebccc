"""What a web process does when its server starts and stops."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from a2a_server import executor, waiting

if TYPE_CHECKING:
    from a2a_server.asgi_types import Application, Receive, Scope, Send


class Lifespan:
    """Answers the server's start and stop events, which Django knows nothing of."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await self._application(scope, receive, send)
            return
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await waiting.close()
        await asyncio.to_thread(executor.close)
        await send({"type": "lifespan.shutdown.complete"})
