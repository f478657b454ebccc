"""What a waiting run waits for, as it is stored beside the run.

`id` is what an answer or a verdict names, so that it is never taken for another question
than the one it was given to (T9, T12). Pure: reads and writes text only.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_runs import questions
from agent_runs.contents import dump_document, load_document, reading

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_runs.questions import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuestion:
    """`key` is under what the answer is kept: a call's id, or a handler's own name.

    `tool` is the tool that asks; empty for a handler.
    """

    id: str
    question: Question
    key: str
    tool: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCall:
    """A call as a person sees it: `arguments` is JSON text, `preview` the tool's own."""

    call_id: str
    tool: str
    arguments: str
    preview: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenApproval:
    id: str
    calls: tuple[ShownCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDelegation:
    """A call that somebody else works on; `id` is what wakes the run."""

    id: str
    tool: str


ForPeople = OpenQuestion | OpenApproval
Waiting = ForPeople | OpenDelegation


def open_question(
    question: Question, *, key: str, asked_by: Iterable[str], tool: str = ""
) -> OpenQuestion:
    """`asked_by` are the ids of everything that is open in the turn."""
    id_ = questions.digest(question, asked_by)
    return OpenQuestion(id=id_, question=question, key=key, tool=tool)


def open_approval(calls: Iterable[ShownCall]) -> OpenApproval:
    """Its id is over everything that is shown: what changes it, changes the id."""
    shown = tuple(calls)
    told = json.dumps([dataclasses.asdict(call) for call in shown], sort_keys=True)
    return OpenApproval(id=hashlib.sha256(told.encode()).hexdigest(), calls=shown)


def as_text(waiting: Waiting) -> str:
    """For people and for the run's history."""
    if isinstance(waiting, OpenQuestion):
        return _question_as_text(waiting.question)
    if isinstance(waiting, OpenDelegation):
        return waiting.tool
    return "\n\n".join(
        "\n".join(filter(None, [f"{call.tool} {call.arguments}", call.preview]))
        for call in waiting.calls
    )


def _question_as_text(question: Question) -> str:
    if not question.details:
        return f"{question.text}\n{question.expected()}"
    return f"{question.text}\n\n{question.details}\n\n{question.expected()}"


def dump(waiting: Waiting) -> str:
    if isinstance(waiting, OpenApproval):
        return dump_document({"approval": dataclasses.asdict(waiting)})
    if isinstance(waiting, OpenDelegation):
        return dump_document({"delegation": dataclasses.asdict(waiting)})
    stored: dict[str, Any] = {
        "id": waiting.id,
        "question": questions.dump(waiting.question),
        "key": waiting.key,
        "tool": waiting.tool,
    }
    return dump_document({"question": stored})


@reading()
def load(text: str) -> Waiting:
    """Raises `ContentsError` for what another release wrote."""
    stored = load_document(text)
    if "approval" in stored:
        approval = stored["approval"]
        calls = tuple(ShownCall(**call) for call in approval["calls"])
        return OpenApproval(id=approval["id"], calls=calls)
    if "delegation" in stored:
        return OpenDelegation(**stored["delegation"])
    asked = stored["question"]
    return OpenQuestion(**asked | {"question": questions.load(asked["question"])})
