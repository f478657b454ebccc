"""A real uvicorn on loopback, in a thread of the test's own process."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING, Any

import uvicorn

from a2a_project.http import BoundedHttpTools

if TYPE_CHECKING:
    from collections.abc import Iterator

ENOUGH = 10.0


class WebServer:
    def __init__(self, application: Any, protocol: type[BoundedHttpTools]) -> None:
        config = uvicorn.Config(
            application,
            http=protocol,
            ws="none",
            proxy_headers=False,
            log_config=None,
            timeout_graceful_shutdown=1,
        )
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._uvicorn = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._uvicorn.run, args=([self._socket],)
        )

    @property
    def port(self) -> int:
        port: int = self._socket.getsockname()[1]
        return port

    def connect(self) -> socket.socket:
        peer = socket.create_connection(("127.0.0.1", self.port), timeout=ENOUGH)
        peer.settimeout(ENOUGH)
        return peer

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._uvicorn.should_exit = True
        self._thread.join(ENOUGH)
        self._socket.close()
        assert not self._thread.is_alive()


@contextlib.contextmanager
def serving(
    application: Any, protocol: type[BoundedHttpTools] = BoundedHttpTools
) -> Iterator[WebServer]:
    server = WebServer(application, protocol)
    server.start()
    try:
        yield server
    finally:
        server.stop()
