"""Server-sent events, both directions: the WHATWG event stream format.

Writing: one ``data:`` line of compact JSON for each event. A line break would cut it in
two, so data that holds one is our mistake. U+2028, U+2029 and U+0085 are no line breaks
to the format but are to some readers; in JSON they can only stand in strings and are
written as escapes.

Reading: a pump. Bytes go in as they arrive, split anywhere; whole events come out.
Lines end at CR LF, LF or CR and nowhere else. Events without data, which is what
comments and keep-alives are, come to nothing, and so does what stands after the last
blank line when the stream ends. What the format calls ``retry`` is not our business.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from a2a_protocol.errors import ErrorCode, LocalError, RemoteError

KEEP_ALIVE: Final = b": keep-alive\n\n"

# As much as a whole reply of a remote agent may have.
MAX_EVENT_BYTES: Final = 2 * 1024 * 1024

_LINE_BREAK: Final = re.compile("[\r\n]")
_BAD_ID: Final = re.compile("[\r\n\x00]")
_LOOKS_LIKE_BREAK: Final = str.maketrans(
    {"\u2028": "\\u2028", "\u2029": "\\u2029", "\u0085": "\\u0085"}
)
_END_OF_LINE: Final = re.compile(b"\r\n|\n|\r")
_KNOWN_FIELDS: Final = frozenset({b"data", b"event", b"id"})
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


def encode_event(data: str, *, event_id: str | int | None = None) -> bytes:
    """One event around JSON text. Raises LocalError if it would not stay one event."""
    if _LINE_BREAK.search(data):
        raise LocalError(code=ErrorCode.INTERNAL)
    line = f"data: {data.translate(_LOOKS_LIKE_BREAK)}\n\n"
    if event_id is None:
        return line.encode()
    if _BAD_ID.search(str(event_id)):
        raise LocalError(code=ErrorCode.INTERNAL)
    return f"id: {event_id}\n{line}".encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """``id`` is the last one that the stream has named, "" before the first.

    ``own_id`` is the one that this event itself names, "" where it names none: only
    that tells an event from the next.
    """

    id: str
    event: str
    data: str
    own_id: str = ""


class EventParser:
    """One stream. A parser that has raised is of no further use."""

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._pending = bytearray()
        self._after_carriage_return = False
        self._at_start = True
        self._last_id = ""
        self._begin_event()

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that this chunk completes.

        Raises RemoteError once an event grows over the limit, finished or not; the
        events that the same chunk completed before it are then lost with it.
        """
        found = (self._take_line(line) for line in self._whole_lines(chunk))
        events = [event for event in found if event is not None]
        self._check_size(len(self._pending))
        return events

    def _whole_lines(self, chunk: bytes) -> list[bytes]:
        # A CR ends its line at once, so that no event waits for the next chunk; the LF
        # that may follow it there belongs to it.
        if self._after_carriage_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_carriage_return = False
        if not chunk:
            return []
        self._after_carriage_return = chunk.endswith(b"\r")
        first, *others = _END_OF_LINE.split(chunk)
        self._pending += first
        if not others:
            return []
        lines = [bytes(self._pending), *others[:-1]]
        self._pending = bytearray(others[-1])
        return lines

    def _take_line(self, line: bytes) -> Event | None:
        if self._at_start:
            line = line.removeprefix(_BYTE_ORDER_MARK)
            self._at_start = False
        if not line:
            return self._end_event()
        name, _, value = line.partition(b":")
        if name in _KNOWN_FIELDS:
            self._check_size(len(line))
            self._size += len(line)
            self._take_field(name, value.removeprefix(b" ").decode(errors="replace"))
        return None

    def _take_field(self, name: bytes, value: str) -> None:
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._event = value
        elif "\x00" not in value:
            self._last_id = self._own_id = value

    def _begin_event(self) -> None:
        self._size = 0
        self._event = ""
        self._own_id = ""
        self._data: list[str] = []

    def _end_event(self) -> Event | None:
        data, event = "\n".join(self._data), self._event or "message"
        own_id = self._own_id
        self._begin_event()
        if not data:
            return None
        return Event(id=self._last_id, event=event, data=data, own_id=own_id)

    def _check_size(self, more: int) -> None:
        if self._size + more > self._max_event_bytes:
            raise RemoteError(code=ErrorCode.INVALID_AGENT_RESPONSE)
