"""The server's HTTP protocol with the bounds that uvicorn leaves to a proxy.

Started with `--http a2a_project.http:BoundedHttpTools`. Without it one connection may
hold any amount of header in memory, or stay open for ever by sending nothing or by
reading nothing. Bodies are bounded where they are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio

    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle


class HeadTooLargeError(Exception):
    """Raised inside the parser, which then refuses the request as malformed."""


class BoundedHttpTools(HttpToolsProtocol):
    """`_head_bytes` counts what the parser reported, `_unparsed_bytes` what it holds."""

    max_head_bytes = 64 * 1024
    max_headers = 100
    head_seconds = 10.0
    stalled_seconds = 30.0

    _is_in_head = True
    _head_bytes = 0
    _unparsed_bytes = 0
    _head_timer: asyncio.TimerHandle | None = None
    _stalled_timer: asyncio.TimerHandle | None = None

    def connection_made(  # type: ignore[override]
        self, transport: asyncio.Transport
    ) -> None:
        super().connection_made(transport)
        self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head_timer()
        self._stop_stalled_timer()
        super().connection_lost(exc)

    # --- The head of a request --------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        # Blank lines before a request make no request, and keep the server's own timer
        # from closing the connection.
        if self._is_in_head and self._head_timer is None:
            self._start_head_timer()
        super().data_received(data)
        if not self._is_in_head:
            return
        self._unparsed_bytes += len(data)
        if (
            self._unparsed_bytes > self.max_head_bytes
            and not self.transport.is_closing()
        ):
            self._refuse_head()

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
        self._is_in_head = True
        super().on_message_complete()

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > self.max_head_bytes:
            raise HeadTooLargeError

    def _refuse_head(self) -> None:
        if self._is_answering():
            self.transport.abort()
        else:
            self.send_400_response("Request header too large.")

    def _is_answering(self) -> bool:
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is not None and not cycle.response_complete

    def _start_head_timer(self) -> None:
        self._head_timer = self.loop.call_later(self.head_seconds, self._end_slow_head)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _end_slow_head(self) -> None:
        self._head_timer = None
        if self._is_answering():
            # The next request may take until this answer is out, and then its time.
            self._start_head_timer()
        elif not self.transport.is_closing():
            self.transport.close()

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
