"""How far a remote agent's work is, read from a task or a message (C4, C8).

    Finished    COMPLETED, or a direct message: there is a text
    Ended       FAILED, REJECTED, CANCELED: there will be none
    Asks        INPUT_REQUIRED
    NeedsAuth   AUTH_REQUIRED
    Working     everything else, a state that is not known here included

Reading is lenient; what was passed over comes back as notes, for the log. The ids are
those that the agent gave, unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from a2a_client import parts, remote_questions, words
from a2a_protocol import proto_json, types
from a2a_protocol.errors import ErrorCode, RemoteError
from a2a_protocol.types import TaskState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from a2a_protocol.json_text import JSONValue
    from agent_runs.questions import Question

LONGEST_WORDS: Final = 2000
NOTHING_TOLD: Final = "The agent completed the task and told no result."
UNKNOWN_STATE: Final = "status.state: It is missing or not known; the task goes on."

_LONGEST_NAME: Final = 200
_LENGTH_OF_MARK: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """The ids are "" where the agent gave none; a message without a task has none."""

    task_id: str = ""
    context_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished(_Outcome):
    """`text` is never empty; `artifact_names` are of those that it holds."""

    text: str
    artifact_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended(_Outcome):
    """`state` is the wire's, the sentence ours; `said` is what the agent told, or ""."""

    state: TaskState
    sentence: str
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asks(_Outcome):
    """`question_id` is what an answer may name, "" where the agent named none.

    `mark` is the same whenever this very asking is told, "" where nothing tells it from
    another one.
    """

    question: Question
    question_id: str = ""
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedsAuth(_Outcome):
    """The sentence is ours; `said` is what the agent told, or ""."""

    sentence: str
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Working(_Outcome):
    """`state` is unspecified where the agent named none that is known here."""

    state: TaskState


Outcome = Finished | Ended | Asks | NeedsAuth | Working
OUTCOMES: Final = (Finished, Ended, Asks, NeedsAuth, Working)


def of_send_result(
    result: JSONValue, *, answered: str = ""
) -> tuple[Outcome, tuple[str, ...]]:
    """The result of SendMessage, with notes. Raises RemoteError.

    `answered` is the mark of the question that was answered last.
    """
    response, notes = proto_json.read_lenient(types.SendMessageResponse, result)
    if response.task is not None:
        found = of_task(response.task, answered=answered)
        return found, notes + notes_on(response.task)
    if response.message is not None:
        return of_message(response.message), notes
    raise RemoteError(code=ErrorCode.INVALID_AGENT_RESPONSE)


def of_task_result(
    result: JSONValue, *, answered: str = ""
) -> tuple[Outcome, tuple[str, ...]]:
    """The result of GetTask or CancelTask, with notes. Raises RemoteError."""
    task, notes = proto_json.read_lenient(types.Task, result)
    return of_task(task, answered=answered), notes + notes_on(task)


def of_task(task: types.Task, *, answered: str = "") -> Outcome:
    if is_answered(task.status, answered):
        return _working(task)
    return _READERS.get(task.status.state, _working)(task)


def is_answered(status: types.TaskStatus, answered: str) -> bool:
    """Whether it asks what was answered already.

    Agents tell a task as it stood before they have looked at the answer; the JavaScript
    SDK makes theirs begin with that.
    """
    is_asking = status.state is TaskState.TASK_STATE_INPUT_REQUIRED
    return is_asking and answered != "" and _mark(status) == answered


def of_message(message: types.Message) -> Finished:
    """A message that is an answer by itself."""
    return Finished(
        text=parts.of_message(message) or NOTHING_TOLD,
        task_id=message.task_id,
        context_id=message.context_id,
    )


def notes_on(task: types.Task) -> tuple[str, ...]:
    is_unknown = task.status.state is TaskState.TASK_STATE_UNSPECIFIED
    return (UNKNOWN_STATE,) if is_unknown else ()


def _finished(task: types.Task) -> Finished:
    told = [(one, parts.of_artifact(one)) for one in task.artifacts]
    texts = [text for _, text in told if text]
    return Finished(
        text="\n\n".join(texts)
        or parts.of_message(task.status.message)
        or NOTHING_TOLD,
        artifact_names=tuple(_name(one) for one, text in told if text),
        task_id=task.id,
        context_id=task.context_id,
    )


def _name(artifact: types.Artifact) -> str:
    return words.one_line(artifact.name or artifact.artifact_id, _LONGEST_NAME)


def _ended(task: types.Task) -> Ended:
    return Ended(
        state=task.status.state,
        sentence=_ENDINGS[task.status.state],
        said=_said(task),
        task_id=task.id,
        context_id=task.context_id,
    )


def _asks(task: types.Task) -> Asks:
    question, question_id = remote_questions.read(task.status.message)
    return Asks(
        question=question,
        question_id=question_id,
        mark=_mark(task.status),
        task_id=task.id,
        context_id=task.context_id,
    )


def _mark(status: types.TaskStatus) -> str:
    message_id = status.message.message_id if status.message else ""
    moment = status.timestamp.isoformat() if status.timestamp else ""
    if not message_id and not moment:
        return ""
    told = "\n".join([message_id, moment, parts.of_message(status.message)])
    return sha256(told.encode()).hexdigest()[:_LENGTH_OF_MARK]


def _needs_auth(task: types.Task) -> NeedsAuth:
    return NeedsAuth(
        sentence="The agent asks for a sign-in that it was not given.",
        said=_said(task),
        task_id=task.id,
        context_id=task.context_id,
    )


def _working(task: types.Task) -> Working:
    return Working(state=task.status.state, task_id=task.id, context_id=task.context_id)


def _said(task: types.Task) -> str:
    return words.lines(parts.of_message(task.status.message), LONGEST_WORDS)


_ENDINGS: Final = MappingProxyType(
    {
        TaskState.TASK_STATE_FAILED: "The agent failed at the task.",
        TaskState.TASK_STATE_REJECTED: "The agent rejected the task.",
        TaskState.TASK_STATE_CANCELED: "The task was canceled at the agent.",
    }
)
_READERS: Final[Mapping[TaskState, Callable[[types.Task], Outcome]]] = MappingProxyType(
    {
        TaskState.TASK_STATE_COMPLETED: _finished,
        TaskState.TASK_STATE_FAILED: _ended,
        TaskState.TASK_STATE_REJECTED: _ended,
        TaskState.TASK_STATE_CANCELED: _ended,
        TaskState.TASK_STATE_INPUT_REQUIRED: _asks,
        TaskState.TASK_STATE_AUTH_REQUIRED: _needs_auth,
    }
)
