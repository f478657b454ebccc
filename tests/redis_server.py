"""A Redis of a test's own, which may be stopped, killed and started again."""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import TYPE_CHECKING

from tests import conftest, processes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class RedisServer:
    """Always on the same port; it keeps nothing on disk."""

    def __init__(self, program: str, directory: Path) -> None:
        self._program = program
        self._directory = directory
        self._port = processes.free_port()
        self.process: processes.Process

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._port}/0"

    def start(self) -> None:
        options = f"--bind 127.0.0.1 --port {self._port} --appendonly no".split()
        self.process = processes.Process(
            "redis",
            [self._program, *options, "--save", "", "--dir", str(self._directory)],
            {"PATH": os.environ["PATH"]},
            self._directory / "redis.log",
        )
        self.process.wait_for_line("Ready to accept connections")

    def kill(self) -> None:
        self.process.kill()

    def pause(self) -> None:
        """It accepts connections and says nothing, as a server that hangs."""
        self.process.pause()

    def resume(self) -> None:
        self.process.resume()


@contextlib.contextmanager
def running(directory: Path) -> Iterator[RedisServer]:
    program = shutil.which("redis-server")
    if program is None:
        conftest.missing_service("There is no redis-server to start.")
    server = RedisServer(str(program), directory)
    server.start()
    try:
        yield server
    finally:
        server.kill()
