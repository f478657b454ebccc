"""Turns what comes off the wire into a body, within a bound (E7).

A compressed kilobyte may stand for gigabytes. So at most one piece is inflated at a time,
and counted before the next. Only gzip is understood, and only once: `identity` is asked
for, and nobody has to send anything else.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from egress.errors import BadAnswer, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

PIECE_BYTES = 64 * 1024

_GZIP_ONLY = zlib.MAX_WBITS | 16


class Decoder:
    """Raises `BadAnswer` for an encoding that is not understood."""

    def __init__(self, encoding: str, *, host: str, body_bytes: int) -> None:
        self._host = host
        self._body_bytes = body_bytes
        self._received = self._decoded = 0
        self._inflater: zlib._Decompress | None = None
        name = encoding.strip().lower()
        if name in {"gzip", "x-gzip"}:
            self._inflater = zlib.decompressobj(_GZIP_ONLY)
        elif name not in {"", "identity"}:
            raise self._undecodable()

    def feed(self, raw: bytes) -> Iterator[bytes]:
        """The pieces that these bytes stand for.

        Raises `BadAnswer` for more bytes than the bound, and for damaged ones.
        """
        self._received += len(raw)
        pieces = self._inflated(raw) if self._inflater else iter((raw,))
        for piece in pieces:
            self._decoded += len(piece)
            if max(self._received, self._decoded) > self._body_bytes:
                raise BadAnswer(
                    Reason.BODY_TOO_LARGE,
                    f"«{self._host}» answered with more than {self._body_bytes} bytes, "
                    "which is as much as is read. Ask it for less.",
                )
            yield piece

    def finish(self) -> None:
        """Raises `BadAnswer` where the last bytes are missing."""
        if self._inflater and self._received and not self._inflater.eof:
            raise self._undecodable()

    def _inflated(self, raw: bytes) -> Iterator[bytes]:
        inflater = self._inflater
        # What the inflater still holds comes with the bytes that end a block or the whole.
        while inflater and raw:
            try:
                piece = inflater.decompress(raw, PIECE_BYTES)
            except zlib.error:
                raise self._undecodable() from None
            if inflater.unused_data:
                raise self._undecodable()
            raw = inflater.unconsumed_tail
            yield piece

    def _undecodable(self) -> BadAnswer:
        return BadAnswer(
            Reason.ENCODING,
            f"«{self._host}» answered in an encoding that was not asked for, or damaged "
            "it. Its operator has to send answers unencoded, or as whole gzip.",
        )
