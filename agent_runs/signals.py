"""The one signal of this package.

`run_changed` is sent inside the transaction of every move of a run, so that what an upper
package derives from it is stored with the move or not at all. A receiver that raises
undoes the move. Enqueueing sends nothing: whoever enqueues knows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.dispatch import Signal

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from agent_runs.contents import Result
    from agent_runs.models import RunState
    from agent_runs.waiting import Waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChange:
    """One move that has just been made.

    `at` is the database's time of the move. `result` is set when the run completed;
    `detail` is the handler's sentence when it refused the input. `waiting` is what the run
    waits for from now on, when it waits for a person.
    """

    run_id: UUID
    previous: RunState
    state: RunState
    at: datetime
    end_reason: str = ""
    result: Result | None = None
    detail: str = ""
    waiting: Waiting | None = None


# Arguments: change (RunChange).
run_changed = Signal()
