from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID


def notify(task_id: UUID, state: str) -> None:
    """Tell every web process that a task has reached `state`; never raises.

    Call it after the commit that made it so.
    """
