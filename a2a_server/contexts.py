"""What was said earlier in a context, for skills that remember it (S49).

A context is a client's own: the same text names another one where another client uses
it. Of a skill's completed tasks it holds what the client said, what it was asked and
answered, and the result. A task that failed, was canceled or still goes on is left out:
what it would add is half a conversation.

A bounded part of it is given to the model, the newest: whoever talks for months pays for
20 messages.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from a2a_protocol import types
from a2a_server.documents import EMPTY
from a2a_server.models import Task, TaskState
from agent_runs.contents import Turn
from agent_runs.statements import Select, value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from django.db.models import QuerySet

MOST_MESSAGES: Final = 20
MOST_BYTES: Final = 64 * 1024
LONGEST_BYTES: Final = 8 * 1024
_CUT: Final = " […]"
# A task has at least what the client said and the result.
_MOST_TASKS: Final = MOST_MESSAGES // 2


def _completed() -> QuerySet[Task]:
    tasks = Task.objects.filter(
        client_id=value(Task, "client_id"),
        context_id=value(Task, "context_id"),
        profile_id=value(Task, "profile_id"),
        state=TaskState.COMPLETED,
    )
    shown = tasks.only("created_at", "head", "history", "artifacts")
    return shown.order_by("-status_at", "-id")[:_MOST_TASKS]


_COMPLETED: Final = Select(_completed)


def earlier_turns(
    *, client_id: int, profile_id: int, context_id: str
) -> tuple[Turn, ...]:
    """The oldest first, and never an answer before its question; one query."""
    tasks = _COMPLETED.all(
        client_id=client_id, profile_id=profile_id, context_id=context_id
    )
    tasks.sort(key=lambda task: (task.created_at, task.pk))
    return _newest(turn for task in tasks for turn in _turns_of(task))


def _newest(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    kept: list[Turn] = []
    room = MOST_BYTES
    for turn in reversed(list(turns)[-MOST_MESSAGES:]):
        room -= len(turn.text.encode())
        if room < 0:
            break
        kept.append(turn)
    while kept and kept[-1].is_from_agent:
        # Its question has fallen off the end.
        kept.pop()
    return tuple(reversed(kept))


# --- Reading a task's document --------------------------------------------------------


def _turns_of(task: Task) -> Iterator[Turn]:
    for message in json.loads(task.history):
        if text := _text_of(message):
            is_from_agent = message.get("role") == types.Role.ROLE_AGENT.value
            yield Turn(text=_cut(text), is_from_agent=is_from_agent)
    said = [_text_of(each) for each in _results_of(task)]
    if text := "\n\n".join(filter(None, said)):
        yield Turn(text=_cut(text), is_from_agent=True)


def _results_of(task: Task) -> list[dict[str, Any]]:
    """The artifacts, and the message beside them or instead of them."""
    artifacts = json.loads(task.artifacts or EMPTY)
    message = json.loads(task.head)["status"].get("message")
    return [*artifacts, *([message] if message else [])]


def _text_of(holder: dict[str, Any]) -> str:
    """The texts of a message or an artifact; where it has none, its data."""
    parts = holder.get("parts", [])
    texts = [part["text"] for part in parts if part.get("text")]
    if not texts:
        data = [part["data"] for part in parts if "data" in part]
        texts = [json.dumps(each, ensure_ascii=False) for each in data]
    return "\n".join(texts)


def _cut(text: str) -> str:
    stored = text.encode()
    if len(stored) <= LONGEST_BYTES:
        return text
    room = LONGEST_BYTES - len(_CUT.encode())
    return stored[:room].decode(errors="ignore") + _CUT
