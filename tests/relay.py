"""A TCP relay on loopback whose connections a test can cut or let hang."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any


class Relay:
    """Runs in an event loop and thread of its own, so that it outlives a test's loop."""

    def __init__(self, host: str, port: int, *, cut_after: bytes = b"") -> None:
        """Once the target has answered `cut_after`, every connection is cut, once."""
        self._target = host, port
        self._cut_after = cut_after
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._flowing = asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    @classmethod
    def to(cls, url: str) -> Self:
        parts = urlsplit(url)
        assert parts.hostname
        return cls(parts.hostname, parts.port or 6379)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def port(self) -> int:
        assert self._server
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def __enter__(self) -> Self:
        self._thread.start()
        self._call(self._open()).result()
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._close()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def cut(self) -> None:
        """Reset every open connection; new ones are taken."""
        await asyncio.wrap_future(self._call(self._cut()))

    def pause(self) -> None:
        """Pass nothing on any more, without closing anything."""
        self._loop.call_soon_threadsafe(self._flowing.clear)

    def resume(self) -> None:
        self._loop.call_soon_threadsafe(self._flowing.set)

    def _call(self, work: Coroutine[Any, Any, None]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _open(self) -> None:
        self._flowing.set()
        self._server = await asyncio.start_server(self._connect, "127.0.0.1", 0)

    async def _close(self) -> None:
        assert self._server
        self._server.close()
        await self._cut()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _connect(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        far_reader, far_writer = await asyncio.open_connection(*self._target)
        both = {writer, far_writer}
        self._writers |= both
        try:
            await asyncio.gather(
                self._pass(reader, far_writer),
                self._pass(far_reader, writer, is_answer=True),
            )
        finally:
            self._writers -= both
            for each in both:
                each.close()

    async def _pass(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        is_answer: bool = False,
    ) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                await self._flowing.wait()
                writer.write(data)
                await writer.drain()
                if is_answer and self._cut_after and self._cut_after in data:
                    self._cut_after = b""
                    await self._cut()
        writer.close()
