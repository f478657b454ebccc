"""The server's HTTP protocol with the bounds that uvicorn leaves to a proxy.

Started with `--http a2a_project.http:BoundedHttpTools`. Without it one connection may
hold any amount of header in memory, or stay open for ever by sending nothing or by
reading nothing. Bodies are bounded where they are read.

One request of a connection is answered at a time, and what a peer sends ahead of an
answer waits unparsed. Reading never stops for it: a peer that hangs up is noticed at
once, whatever it has sent before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio

    from uvicorn._types import ASGI3Application
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle


class HeadTooLargeError(Exception):
    """Raised inside the parser, which then refuses the request as malformed."""


class BoundedHttpTools(HttpToolsProtocol):
    """`_head_bytes` counts what the parser reported, `_unparsed_bytes` what it holds.

    `_running` is the request that is being answered; `cycle`, the server's own, is the
    last one parsed. `_ahead` is what came after the requests that were parsed.
    """

    max_head_bytes = 64 * 1024
    max_headers = 100
    head_seconds = 10.0
    stalled_seconds = 30.0
    max_ahead_bytes = 64 * 1024

    _is_in_head = True
    _has_ended_message = False
    _head_bytes = 0
    _unparsed_bytes = 0
    _head_timer: asyncio.TimerHandle | None = None
    _stalled_timer: asyncio.TimerHandle | None = None
    _running: RequestResponseCycle | None = None
    _ahead = b""

    def connection_made(  # type: ignore[override]
        self, transport: asyncio.Transport
    ) -> None:
        super().connection_made(transport)
        self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head_timer()
        self._stop_stalled_timer()
        self._tell_running()
        super().connection_lost(exc)

    # --- The head of a request --------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._is_behind_another():
            self._keep(data)
            return
        # Blank lines before a request make no request, and keep the server's own timer
        # from closing the connection.
        if self._is_in_head and self._head_timer is None:
            self._start_head_timer()
        self._has_ended_message = False
        super().data_received(data)
        if self._is_behind_another():
            # The server pauses for what it has parsed ahead.
            self.flow.resume_reading()
        self._count_unparsed(len(data))

    def _count_unparsed(self, size: int) -> None:
        # How much of a read came after a message's end, only the parser knows.
        if not self._is_in_head or self._has_ended_message:
            return
        self._unparsed_bytes += size
        is_over = self._unparsed_bytes > self.max_head_bytes
        if is_over and not self.transport.is_closing():
            self.send_400_response("Request header too large.")

    def on_message_begin(self) -> None:
        self._head_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers after a chunked body arrive here too, and are counted with the head.
        self._count(len(name) + len(value))
        if len(self.headers) >= self.max_headers:
            raise HeadTooLargeError
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        self._unparsed_bytes = 0
        self._stop_head_timer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_in_head = self._has_ended_message = True
        self._unparsed_bytes = 0
        super().on_message_complete()

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > self.max_head_bytes:
            raise HeadTooLargeError

    def _start_head_timer(self) -> None:
        self._head_timer = self.loop.call_later(self.head_seconds, self._end_slow_head)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _end_slow_head(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing():
            self.transport.close()

    # --- A peer that sends ahead ------------------------------------------------------

    def _start_asgi_task(
        self, cycle: RequestResponseCycle, app: ASGI3Application
    ) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._ahead and not self._is_behind_another():
            data, self._ahead = self._ahead, b""
            if not self.transport.is_closing():
                self.data_received(data)

    def send_400_response(self, msg: str) -> None:
        running = self._answering()
        if running is None:
            super().send_400_response(msg)
        elif self._is_behind_another():
            # The answer that is due goes out, and nothing after it.
            running.keep_alive = False
        elif running.response_started:
            self.transport.close()
        else:
            super().send_400_response(msg)

    def _keep(self, data: bytes) -> None:
        running = self._answering()
        if running is None or not running.keep_alive:
            return
        if len(self._ahead) + len(data) > self.max_ahead_bytes:
            # It has to send again what was not answered (RFC 9112 section 9.3.2).
            running.keep_alive = False
            self._ahead = b""
        else:
            self._ahead += data

    def _is_behind_another(self) -> bool:
        """Whether what comes next belongs to a later request than the one answered."""
        return self._answering() is not None and (
            self._is_in_head or bool(self.pipeline)
        )

    def _answering(self) -> RequestResponseCycle | None:
        running = self._running
        return None if running is None or running.response_complete else running

    def _tell_running(self) -> None:
        # The server tells the last request parsed, which may not have begun.
        running = self._answering()
        if running is not None:
            running.disconnected = True
            running.message_event.set()

    # --- A peer that stops reading ----------------------------------------------------

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        self._stop_stalled_timer()
        super().resume_writing()

    def _watch_reader(self) -> None:
        self._stalled_timer = self.loop.call_later(
            self.stalled_seconds,
            self._end_stalled_reader,
            self.transport.get_write_buffer_size(),
        )

    def _end_stalled_reader(self, bytes_before: int) -> None:
        if self.transport.get_write_buffer_size() < bytes_before:
            # It reads, if slowly: a large answer may take longer than this.
            self._watch_reader()
        else:
            # Closing would wait for the buffer that nobody reads.
            self.transport.abort()

    def _stop_stalled_timer(self) -> None:
        if self._stalled_timer is not None:
            self._stalled_timer.cancel()
            self._stalled_timer = None
