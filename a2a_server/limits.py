from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    id: UUID
    client_id: int


class WaitingSlots:
    def acquire(self, client_id: int, task_limit: int) -> Slot:
        """Raise WAITING_CAPACITY_EXHAUSTED where no slot is free.

        Call it outside `transaction.atomic()`: a slot outlives a refusal's rollback.
        """
        raise NotImplementedError

    def release(self, slot: Slot) -> None:
        """Never raises; a slot that cannot be given back expires by itself."""


waiting_slots = WaitingSlots()
