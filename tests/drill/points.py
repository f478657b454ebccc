"""Named points in a run's life at which the drill may stop a worker.

The product has no hook for this: `install` wraps its functions, in worker processes of a
test's installation only. Every run visits the gate at every point, as `<run id>/<point>`;
the gate lets it pass unless the test holds that visit, and remembers all of them.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from django.db import connection

from a2a_client import delegation, polling, recording
from agent_runs import delegations, engine, lifecycle
from agent_runs.agent_loop import AgentLoop
from agent_runs.models import RunState
from agent_runs.models.run import WAITING_STATES
from agent_runs.open_turn import OpenTurn
from agent_runs.segment import Segment
from agent_runs.signals import run_changed
from agent_runs.tools import gate
from tests.drill.visiting import visit

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_runs.signals import RunChange


def install() -> None:
    _wrap(lifecycle, "claim", "claim", _first)
    _wrap(lifecycle, "suspend", "suspend", _of_lease)
    _wrap(lifecycle, "complete", "settle", _of_lease)
    _wrap(engine, "execute", "segment", _first)
    _wrap(gate, "write", "draft", _of_run)
    _wrap(OpenTurn, "_write", "write", _of_segment)
    _wrap(Segment, "store_checkpoint", "store", _of_self)
    _wrap_async(AgentLoop, "_take_decisions", "decisions", _of_segment)
    _wrap_async(AgentLoop, "_request", "model", _of_segment)
    _wrap_async(AgentLoop, "_store", "answer", _of_segment)
    _wrap_async(gate, "execute", "tool", _of_run)
    _wrap_async(gate, "delegate", "delegate", _of_run)
    _wrap(delegations, "wake", "wake", _first)
    _wrap_async(delegation, "send", "send", _of_call)
    _wrap(recording, "reply_to_message", "record", _of_call)
    _wrap(recording, "stream_ended", "record", _of_call)
    _wrap(polling, "_take_poll", "poll", _of_call)
    run_changed.connect(_inside_move, weak=False)


def stop_at(run_id: object, point: str) -> None:
    # Whether a transaction is open is a part of where the worker is.
    inside = ".in-transaction" if connection.in_atomic_block else ""
    visit(f"{run_id}/{point}{inside}")


# --- Which run ------------------------------------------------------------------------


def _first(run_id: object, *_: object) -> object:
    return run_id


def _of_lease(lease: Any, *_: object) -> object:
    return lease.run_id


def _of_run(run: Any, *_: object) -> object:
    return run.id


def _of_call(call: Any, *_: object) -> object:
    return call.run_id


def _of_self(segment: Any, *_: object) -> object:
    return segment.run.id


def _of_segment(worker: Any, *_: object) -> object:
    return worker.segment.run.id


# --- Before, after, inside ------------------------------------------------------------


def _wrap(owner: Any, name: str, point: str, run_of: Callable[..., object]) -> None:
    function = getattr(owner, name)

    @functools.wraps(function)
    def stopping(*arguments: Any, **keywords: Any) -> Any:
        run_id = run_of(*arguments)
        stop_at(run_id, f"{point}.before")
        result = function(*arguments, **keywords)
        stop_at(run_id, f"{point}.after")
        return result

    setattr(owner, name, stopping)


def _wrap_async(
    owner: Any, name: str, point: str, run_of: Callable[..., object]
) -> None:
    function = getattr(owner, name)

    @functools.wraps(function)
    async def stopping(*arguments: Any, **keywords: Any) -> Any:
        run_id = run_of(*arguments)
        visit(f"{run_id}/{point}.before")
        result = await function(*arguments, **keywords)
        visit(f"{run_id}/{point}.after")
        return result

    setattr(owner, name, stopping)


def _inside_move(*, change: RunChange, **_: Any) -> None:
    """The last receiver: everything of the move is stored, nothing committed."""
    if change.state is RunState.RUNNING:
        visit(f"{change.run_id}/claim.inside")
    elif change.state in WAITING_STATES:
        visit(f"{change.run_id}/suspend.inside")
    elif change.state is RunState.COMPLETED:
        visit(f"{change.run_id}/settle.inside")
