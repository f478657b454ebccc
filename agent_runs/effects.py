"""What code does to the world; declared by handlers and tools, never by a record (T1)."""

from __future__ import annotations

from enum import Enum


class Effect(Enum):
    READ_ONLY = "read_only"
    IDEMPOTENT_WRITE = "idempotent_write"
    NON_IDEMPOTENT_WRITE = "non_idempotent_write"

    @property
    def is_write(self) -> bool:
        return self is not Effect.READ_ONLY

    @property
    def may_repeat(self) -> bool:
        return self is not Effect.NON_IDEMPOTENT_WRITE
