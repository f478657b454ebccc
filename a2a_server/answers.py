"""From a client's message to the answer of a question (S71).

An answer is text or one data part, whatever the skill's handler takes: it is the question
that asks for a value. It may name its question in the message's metadata, in the place
where the question's own message has it.

Pure: nothing here reads or stores a record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from a2a_protocol.cards import PROFILE_EXTENSION_URI
from a2a_protocol.errors import invalid_params
from a2a_protocol.json_text import member_path
from a2a_server import inputs
from a2a_server.errors import Reason, refuse
from agent_runs import questions
from agent_runs.questions import BadAnswer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_protocol import types
    from a2a_protocol.errors import ProtocolError
    from a2a_protocol.json_text import JSONValue
    from agent_runs.questions import Question

_QUESTION_ID: Final = "questionId"
_PARTS: Final = "message.parts"
_TEXT_TYPES: Final = ("text/*",)
_DATA_TYPES: Final = ("application/json",)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """`place` is where it stands in the request."""

    value: JSONValue
    place: str
    is_text: bool


def named_question(message: types.Message) -> str:
    """The id of the question that the message says it answers; empty: it says none."""
    told = (message.metadata or {}).get(PROFILE_EXTENSION_URI)
    named = told.get(_QUESTION_ID) if isinstance(told, dict) else None
    if named is None or isinstance(named, str):
        return named or ""
    raise invalid_params(question_field(), "A question's id is a text.")


def question_field() -> str:
    """Where a message names its question."""
    return f"message.metadata.{PROFILE_EXTENSION_URI}.{_QUESTION_ID}"


def read(question: Question, message: types.Message) -> str | Mapping[str, JSONValue]:
    """What the message answers, found to be an answer; else the refusal of S42 or S71."""
    given = _given(message)
    told = _told(question, given)
    try:
        questions.parse(question, told)
    except BadAnswer as error:
        raise _refusal(question, given, error) from None
    return told


# --- Parts ----------------------------------------------------------------------------


def _given(message: types.Message) -> _Given:
    for number, part in enumerate(message.parts):
        _refuse_untaken(part, number)
    parts = list(enumerate(message.parts))
    data = [(number, part) for number, part in parts if part.kind == "data"]
    texts = [(number, part.text) for number, part in parts if (part.text or "").strip()]
    if data and (texts or len(data) > 1):
        raise invalid_params(_PARTS, "An answer is either text or one data part.")
    if data:
        number, part = data[0]
        place = f"{_PARTS}[{number}].data"
        return _Given(value=part.data, place=place, is_text=False)
    place = f"{_PARTS}[{texts[0][0]}].text" if len(texts) == 1 else _PARTS
    text = "\n".join(text or "" for _, text in texts)
    return _Given(value=text, place=place, is_text=True)


def _refuse_untaken(part: types.Part, number: int) -> None:
    accepted = {"text": _TEXT_TYPES, "data": _DATA_TYPES}.get(part.kind or "", ())
    media_type = part.media_type.strip()
    if accepted and (not media_type or inputs.is_accepted(media_type, accepted)):
        return
    place = f"{_PARTS}[{number}]"
    raise refuse(
        Reason.CONTENT_TYPE_NOT_SUPPORTED,
        message=f"An answer is text or JSON, which {place} is not.",
        metadata={
            "field": place,
            "inputModes": ",".join((*_TEXT_TYPES, *_DATA_TYPES)),
        },
    )


# --- Values ---------------------------------------------------------------------------


def _told(question: Question, given: _Given) -> str | Mapping[str, JSONValue]:
    """As the runs take it: the value itself may be what the schema of one field wants."""
    if given.is_text:
        return str(given.value)
    if isinstance(given.value, dict):
        return given.value
    if question.only_field is None:
        raise _refusal(question, given, BadAnswer("A JSON object is expected."))
    return {question.only_field.name: given.value}


def _refusal(question: Question, given: _Given, error: BadAnswer) -> ProtocolError:
    # A value that stands for itself has no member that could be named.
    is_member = isinstance(given.value, dict) or not question.only_field
    path = (
        member_path(given.place, error.field)
        if error.field and is_member
        else given.place
    )
    return invalid_params(path, _expectation(question, error))


def _expectation(question: Question, error: BadAnswer) -> str:
    known = {field.name for field in question.fields}
    if question.only_field or error.field in known:
        return str(error)
    if not error.field:
        return question.expected()
    return f"{error} {question.expected()}"
