"""Asks an agent what became of a call (C7); the message is never sent again.

By the task's id where the agent named one, else by the context's id, which is ours. What
is found is kept for administrators: ids, states and times, none of the agent's own words.
The call's state stays as it is, since nobody waits for it any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from asgiref.sync import async_to_sync

from a2a_client import ledger, messages, polling, transport, words
from a2a_client.audit import Audit
from a2a_client.replies import TASK_NOT_FOUND, Accepted, NotAccepted
from a2a_protocol import proto_json, types
from a2a_protocol.errors import RemoteError

if TYPE_CHECKING:
    from a2a_client.models import RemoteCall
    from a2a_client.replies import Judgement

    Model = TypeVar("Model", bound=types.WireModel)

PURPOSE = "look up"
_MOST_SHOWN = 5
_LONGEST_ID = 100

NOTHING_IN_CONTEXT = (
    "The agent knows no task of this call: the message may not have arrived, it may have "
    "been answered without a task, or the agent keeps no task that has ended."
)
UNREADABLE = "The agent's answer cannot be read."


def look_up(call: RemoteCall) -> str:
    """What the agent says now, in a sentence; kept in `found` unless it told nothing.

    Blocks for as long as the agent's time-out. Raises nothing for what an agent or the
    network does.
    """
    if problem := call.agent.reach_problem():
        return f"The agent was not asked. {problem}"
    judgement = _ask(call)
    found = (
        _by_id(call, judgement) if call.remote_task_id else _in_context(call, judgement)
    )
    if found is None:
        return _told_nothing(judgement)
    ledger.found(call, found)
    return found


def _ask(call: RemoteCall) -> Judgement:
    if call.remote_task_id:
        return async_to_sync(polling.ask)(call, purpose=PURPOSE)
    return async_to_sync(transport.send)(
        call.agent,
        "ListTasks",
        messages.tasks_of_context(call),
        audit=Audit.of(call, PURPOSE),
    )


def _by_id(call: RemoteCall, judgement: Judgement) -> str | None:
    if isinstance(judgement, NotAccepted) and judgement.code == TASK_NOT_FOUND:
        shown = words.one_line(call.remote_task_id, _LONGEST_ID)
        return f"The agent knows no task «{shown}», or none any more."
    task = _read(types.Task, judgement)
    return f"At the agent, {_described(task)}." if task else None


def _in_context(call: RemoteCall, judgement: Judgement) -> str | None:
    page = _read(types.ListTasksResponse, judgement)
    if page is None:
        return None
    # An agent may not know the filter and list everybody's.
    tasks = [task for task in page.tasks if task.context_id == call.context_id]
    if not tasks:
        return NOTHING_IN_CONTEXT
    shown = "; ".join(_described(task) for task in tasks[:_MOST_SHOWN])
    more = len(tasks) - _MOST_SHOWN
    return f"At the agent, {shown}{f'; and {more} more' if more > 0 else ''}."


def _read(model_type: type[Model], judgement: Judgement) -> Model | None:
    if not isinstance(judgement, Accepted):
        return None
    try:
        return proto_json.read_lenient(model_type, judgement.result)[0]
    except RemoteError:
        return None


def _described(task: types.Task) -> str:
    state = task.status.state.removeprefix("TASK_STATE_").replace("_", " ").lower()
    shown = words.one_line(task.id, _LONGEST_ID)
    if (at := task.status.timestamp) is None:
        return f"task «{shown}» is {state}"
    return f"task «{shown}» is {state} since {at:%Y-%m-%d %H:%M:%S} UTC"


def _told_nothing(judgement: Judgement) -> str:
    said = UNREADABLE if isinstance(judgement, Accepted) else judgement.sentence
    return f"Nothing was found out. {said}"
