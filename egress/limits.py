"""Bounds of one operation (E7)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """`connect_seconds` are for DNS, TCP and TLS together; `total_seconds` for everything,
    from DNS to the last byte of the answer. `idle_seconds` is how long the other side may
    be silent; each byte counts, also a comment of an event stream. `body_bytes` are
    counted as they come and again after decompression.
    """

    connect_seconds: float = 5
    total_seconds: float = 30
    idle_seconds: float = 60
    body_bytes: int = 2 * 1024 * 1024
    header_bytes: int = 100 * 1024
