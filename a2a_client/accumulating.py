"""A remote task as far as the events of a stream have told it (C4, C6, B106, B114).

- A task is a snapshot and replaces everything that was told before.
- A chunk replaces the artifact of its id, or is appended to it if it says so. One that
  is appended to nothing begins an artifact.
- An event whose own id came before, with the same content, is a replay and is passed
  over. Ids alone do not tell: some agents count anew after a cut.
- A message, a state that ends the task, or one that waits for us ends the stream for us,
  whether or not the agent closes it. If it ends before, nothing is known but that the
  stream was cut.

`TaskSoFar` lives as long as the task is followed, over several streams.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from a2a_client import outcomes, words
from a2a_client.outcomes import Working
from a2a_protocol import proto_json, types
from a2a_protocol.errors import RemoteError
from a2a_protocol.types.task import INTERRUPTED_STATES, TERMINAL_STATES, TaskState

if TYPE_CHECKING:
    from a2a_client.outcomes import Finished, Outcome
    from a2a_protocol.json_text import JSONValue

    Notes = tuple[str, ...]

MOST_EVENTS: Final = 10_000
# As JSON, in bytes: as much as a whole reply may have.
LARGEST_TASK: Final = 2 * 1024 * 1024

UNREADABLE: Final = "An event is none that is known; it was passed over."
LATE: Final = "An event came after the end; it was passed over."
OF_ANOTHER_TASK: Final = "An event is about another task; it was passed over."

_LONGEST_ID: Final = 100
_ENDS: Final = TERMINAL_STATES | INTERRUPTED_STATES


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The stream ended and the task did not; `task_id` is "" where none was told."""

    task_id: str = ""
    context_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TooMuch:
    """The agent told more than is read; the task may still go on."""

    sentence: str
    task_id: str = ""
    context_id: str = ""


class TaskSoFar:
    """`answered` is the mark of the question that was answered last."""

    def __init__(self, *, answered: str = "") -> None:
        self._answered = answered
        # Without artifacts and history: those are kept beside it, these not at all.
        self._task: types.Task | None = None
        self._chunks: dict[str, list[types.Artifact]] = {}
        self._sizes: dict[str, int] = {}
        self._size = 0
        self._events = 0
        self._seen: set[bytes] = set()
        self._message: Finished | None = None
        self._problem = ""

    @property
    def task_id(self) -> str:
        return self._task.id if self._task else ""

    @property
    def context_id(self) -> str:
        return self._task.context_id if self._task else ""

    @property
    def is_over(self) -> bool:
        """Whether no further event is needed, or none is taken any more."""
        if self._problem or self._message:
            return True
        if self._task is None or self._task.status.state not in _ENDS:
            return False
        return not outcomes.is_answered(self._task.status, self._answered)

    def take(self, result: JSONValue, *, event_id: str = "") -> Notes:
        """One event, a StreamResponse; what was passed over, for the log.

        `event_id` is the event's own, "" where it names none.
        """
        if self.is_over:
            return (LATE,)
        self._events += 1
        if self._events > MOST_EVENTS:
            self._problem = f"The agent sent more than {MOST_EVENTS:,} events."
            return ()
        if self._is_replayed(event_id, result):
            return ()
        try:
            response, notes = proto_json.read_lenient(types.StreamResponse, result)
        except RemoteError:
            return (UNREADABLE,)
        return notes + self._apply(response)

    def settled(self) -> Outcome | Cut | TooMuch:
        """What is known when the stream has ended, or is over."""
        if self._problem:
            return TooMuch(
                sentence=self._problem, task_id=self.task_id, context_id=self.context_id
            )
        if self._message:
            return self._message
        if self._task is None:
            return Cut()
        outcome = outcomes.of_task(self._whole(self._task), answered=self._answered)
        if isinstance(outcome, Working):
            return Cut(task_id=outcome.task_id, context_id=outcome.context_id)
        return outcome

    def _is_replayed(self, event_id: str, result: JSONValue) -> bool:
        if not event_id:
            return False
        told = json.dumps([event_id, result], sort_keys=True)
        key = hashlib.sha256(told.encode()).digest()
        is_known = key in self._seen
        self._seen.add(key)
        return is_known

    def _apply(self, response: types.StreamResponse) -> Notes:
        if response.message is not None:
            self._message = outcomes.of_message(response.message)
            return ()
        if response.task is not None:
            return self._take_snapshot(response.task)
        if response.status_update is not None:
            return self._take_status(response.status_update)
        if response.artifact_update is not None:
            return self._take_chunk(response.artifact_update)
        # The reader has noted it.
        return ()

    def _take_snapshot(self, task: types.Task) -> Notes:
        if self._is_another(task.id):
            return (OF_ANOTHER_TASK,)
        self._task = task.model_copy(update={"artifacts": (), "history": ()})
        self._chunks, self._sizes, self._size = {}, {}, 0
        for artifact in task.artifacts:
            self._keep(artifact, is_more=False)
        return outcomes.notes_on(task)

    def _take_status(self, update: types.TaskStatusUpdateEvent) -> Notes:
        if self._is_another(update.task_id):
            return (OF_ANOTHER_TASK,)
        self._task = types.Task(
            id=update.task_id,
            context_id=update.context_id or self.context_id,
            status=update.status,
        )
        return outcomes.notes_on(self._task)

    def _take_chunk(self, update: types.TaskArtifactUpdateEvent) -> Notes:
        if self._is_another(update.task_id):
            return (OF_ANOTHER_TASK,)
        if self._task is None:
            # Nothing was told of its state, but who makes something is at work.
            status = types.TaskStatus(state=TaskState.TASK_STATE_WORKING)
            self._task = types.Task(
                id=update.task_id, context_id=update.context_id, status=status
            )
        is_more = update.append and update.artifact.artifact_id in self._chunks
        self._keep(update.artifact, is_more=is_more)
        if update.append and not is_more:
            shown = words.one_line(update.artifact.artifact_id, _LONGEST_ID)
            return (f"artifact «{shown}»: It is not known; it begins with this chunk.",)
        return ()

    def _is_another(self, task_id: str) -> bool:
        return self._task is not None and self._task.id != task_id

    def _keep(self, artifact: types.Artifact, *, is_more: bool) -> None:
        id_ = artifact.artifact_id
        size = len(proto_json.write_text(artifact).encode())
        if is_more:
            self._chunks[id_].append(artifact)
        else:
            self._size -= self._sizes.pop(id_, 0)
            self._chunks[id_] = [artifact]
        self._sizes[id_] = self._sizes.get(id_, 0) + size
        self._size += size
        if self._size > LARGEST_TASK:
            self._problem = f"The agent's result is over {LARGEST_TASK:,} bytes."

    def _whole(self, task: types.Task) -> types.Task:
        return task.model_copy(
            update={"artifacts": tuple(map(_joined, self._chunks.values()))}
        )


def _joined(chunks: list[types.Artifact]) -> types.Artifact:
    parts = tuple(part for chunk in chunks for part in chunk.parts)
    return chunks[0].model_copy(update={"parts": parts})
