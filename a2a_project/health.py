"""`/healthz` and `/readyz`, for load balancers and supervisors (W7).

They are answered before any rule about hosts, redirects and sessions, since who asks has
neither the right host name nor a cookie. `/healthz` says that the process is alive,
`/readyz` whether it can serve: without its database, or with one that is not migrated, it
cannot; without the broker it can, more slowly.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from a2a_server import executor, redis_access

if TYPE_CHECKING:
    from a2a_server.asgi_types import Application, Receive, Scope, Send

logger = logging.getLogger(__name__)

# Whoever asks gives up after a few seconds, mostly.
READY_SECONDS = 5.0
_METHODS = {"GET", "HEAD"}


class Health:
    def __init__(
        self, application: Application, *, seconds: float = READY_SECONDS
    ) -> None:
        self._application = application
        self._seconds = seconds
        self._is_migrated = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"] if scope["type"] == "http" else None
        if path not in {"/healthz", "/readyz"}:
            await self._application(scope, receive, send)
        elif scope["method"] not in _METHODS:
            await _send(send, 405, {"error": "GET or HEAD"}, (b"allow", b"GET, HEAD"))
        elif path == "/healthz":
            await _send(send, 200, {"status": "ok"})
        else:
            await _send(send, *await self._read())

    async def _read(self) -> tuple[int, dict[str, str]]:
        try:
            return await executor.outcome_of(
                executor.start(self._readiness), seconds=self._seconds
            )
        except executor.OverdueError:
            return 503, {"status": "unavailable", "database": "away"}

    def _readiness(self) -> tuple[int, dict[str, str]]:
        database = self._database()
        broker = _broker()
        parts = {"database": database, "broker": broker}
        if database != "ok":
            return 503, {"status": "unavailable", **parts}
        return 200, {"status": "degraded" if broker == "away" else "ok", **parts}

    def _database(self) -> str:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
            # Migrations are applied once; reading all of them takes a while.
            self._is_migrated = self._is_migrated or _is_migrated()
        except DatabaseError as error:
            logger.warning("Not ready", extra={"error": type(error).__name__})
            return "away"
        return "ok" if self._is_migrated else "not migrated"


def _is_migrated() -> bool:
    migrations = MigrationExecutor(connection)
    return not migrations.migration_plan(migrations.loader.graph.leaf_nodes())


def _broker() -> str:
    if not redis_access.is_configured():
        return "none"
    try:
        redis_access.run(lambda client: client.ping())
    except redis_access.RedisAwayError:
        return "away"
    return "ok"


async def _send(
    send: Send, status: int, content: dict[str, str], *headers: tuple[bytes, bytes]
) -> None:
    body = json.dumps(content).encode()
    start = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        *headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": body})
