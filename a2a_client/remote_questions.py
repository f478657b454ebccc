"""A remote agent's question, as one that a run can ask (C8).

Another installation of this product says in its metadata what it accepts, and then its
question is asked as it was meant. Whatever else an agent says is asked as a free text: in
one line, and in full below it where it has more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from a2a_client import parts, words
from a2a_protocol.cards import PROFILE_EXTENSION_URI
from agent_runs.questions import (
    LONGEST_DETAILS,
    LONGEST_TEXT,
    Field,
    Question,
    QuestionError,
    ValueType,
    normalized,
)

if TYPE_CHECKING:
    from a2a_protocol.json_text import JSONValue
    from a2a_protocol.types import Message

WORDLESS: Final = "The agent asks for something and does not say what."

_LONGEST_ID: Final = 200


def read(message: Message | None) -> tuple[Question, str]:
    """The question, and the id under which the agent knows it, "" where it has none."""
    told = _told(message)
    return _typed(told) or _free(parts.of_message(message)), _id(told)


def _told(message: Message | None) -> dict[str, JSONValue]:
    metadata = (message.metadata if message else None) or {}
    told = metadata.get(PROFILE_EXTENSION_URI)
    return told if isinstance(told, dict) else {}


def _id(told: dict[str, JSONValue]) -> str:
    named = told.get("questionId")
    return named if isinstance(named, str) and len(named) <= _LONGEST_ID else ""


def _typed(told: dict[str, JSONValue]) -> Question | None:
    """None where the metadata says nothing that could be asked."""
    text, details, schema = (told.get(n) for n in ("question", "details", "answer"))
    if not isinstance(text, str) or not isinstance(schema, dict):
        return None
    more = words.lines(details, LONGEST_DETAILS) if isinstance(details, str) else ""
    try:
        return Question(text=text, fields=_fields(schema), details=more)
    except QuestionError:
        return None


def _fields(schema: dict[str, JSONValue]) -> tuple[Field, ...]:
    if schema.get("type") != "object":
        return (Field(**_value(schema)),)
    properties, required = schema.get("properties"), schema.get("required")
    # A lone value is asked for by its own schema; this one wants an object all the same.
    if not isinstance(properties, dict) or len(properties) < 2:
        raise QuestionError("an object needs several members")
    names = required if isinstance(required, list) else []
    return tuple(
        Field(name=name, is_required=name in names, **_value(member))
        for name, member in properties.items()
    )


def _value(schema: JSONValue) -> dict[str, Any]:
    """What a field says of its value."""
    if not isinstance(schema, dict):
        raise QuestionError("a schema is an object")
    label, enum = schema.get("title"), schema.get("enum")
    options = enum if enum is not None else schema.get("examples")
    return {
        "label": label if isinstance(label, str) else "",
        "type": _type(schema.get("type")),
        "options": _options(options),
        "allow_free_text": enum is None and options is not None,
    }


def _type(named: JSONValue) -> ValueType:
    for type_ in ValueType:
        if type_.value == named:
            return type_
    raise QuestionError("the type is none that can be asked for")


def _options(listed: JSONValue) -> tuple[str, ...]:
    if listed is None:
        return ()
    texts = listed if isinstance(listed, list) else [listed]
    options = tuple(text for text in texts if isinstance(text, str))
    if not options or len(options) != len(texts):
        raise QuestionError("options are texts")
    return options


def _free(said: str) -> Question:
    text = words.lines(said, LONGEST_DETAILS)
    whole = " ".join(text.split())
    line = _line(text.partition("\n")[0]) or WORDLESS
    is_all = not whole or ("\n" not in text and _line(text) == normalized(whole))
    return Question(text=line, details="" if is_all else text)


def _line(text: str) -> str:
    # Normalised before it is cut: some letters have more code points then.
    return words.cut(normalized(words.one_line(text, 2 * LONGEST_TEXT)), LONGEST_TEXT)
