"""Questions that a run asks whoever sent it, and what counts as an answer (T7–T9).

A question has one line of text and one or more fields. With one field it takes a text;
with several it takes an object with a value for each. Texts that people and models write
are compared after one normalisation, so that «Straße» typed elsewhere is the same option.

Pure: nothing here knows runs, records or clients.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from agent_runs.cleaning import clean_text, is_hidden, visible_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_runs.contents import JSONValue

LONGEST_TEXT = 300
LONGEST_DETAILS = 10_000
LONGEST_OPTION = 120
MOST_OPTIONS = 10
MOST_FIELDS = 20
LONGEST_ANSWER = 10_000
# The name of the only field of a question that names none.
ANSWER = "answer"

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z")
_SOFT_HYPHEN = "\u00ad"
# How an emoji looks; it makes no other option.
_LOOKS = re.compile("[\ufe0e\ufe0f]")
_YES = frozenset({"true", "yes"})
_NO = frozenset({"false", "no"})


class QuestionError(ValueError):
    """This cannot be asked; the sentence says what is wrong with it."""


class BadAnswer(ValueError):  # noqa: N818 -- a verdict, not a failure
    """This is no answer; the sentence says what was expected.

    `field` is the member of an object that is wrong, or empty.
    """

    def __init__(self, sentence: str, *, field: str = "") -> None:
        super().__init__(sentence)
        self.field = field


# --- Texts ----------------------------------------------------------------------------


def normalized(text: str) -> str:
    """NFC, trimmed, without soft hyphens: how options and answers are compared."""
    plain = text.replace(_SOFT_HYPHEN, "").strip()
    if len(plain) > LONGEST_ANSWER:
        # It fits nowhere, and the time that NFC takes can grow with the length squared.
        return plain
    return unicodedata.normalize("NFC", plain).strip()


def _option(text: str) -> str:
    option = _one_line("option", text, LONGEST_OPTION)
    if not option:
        raise QuestionError("an option is empty")
    return option


def _one_line(what: str, text: str, longest: int) -> str:
    line = normalized(text)
    if any(map(is_hidden, line)):
        raise QuestionError(f"the {what} must be one line of visible characters")
    if len(line) > longest:
        raise QuestionError(f"the {what} is longer than {longest} characters")
    return line


# --- Questions ------------------------------------------------------------------------


class ValueType(Enum):
    """The JSON type that a field's value has."""

    TEXT = "string"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One value that is asked for.

    With `options` only one of them is accepted, unless `allow_free_text`.
    """

    name: str = ANSWER
    label: str = ""
    type: ValueType = ValueType.TEXT
    options: tuple[str, ...] = ()
    allow_free_text: bool = False
    is_required: bool = True

    def __post_init__(self) -> None:
        if not _NAME.match(self.name):
            raise QuestionError(f"{self.name!r} is no name of a field")
        object.__setattr__(self, "label", _one_line("label", self.label, LONGEST_TEXT))
        options = tuple(_option(option) for option in self.options)
        object.__setattr__(self, "options", options)
        if options and self.type is not ValueType.TEXT:
            raise QuestionError("only a text has options")
        if options and not 2 <= len(options) <= MOST_OPTIONS:
            raise QuestionError(f"a choice has 2 to {MOST_OPTIONS} options")
        if len({_LOOKS.sub("", option) for option in options}) != len(options):
            raise QuestionError("two options are the same")

    @property
    def is_closed(self) -> bool:
        """Whether only the options are accepted."""
        return bool(self.options) and not self.allow_free_text

    def expected(self) -> str:
        """What is accepted, for people."""
        if self.options:
            listed = ", ".join(f"«{option}»" for option in self.options)
            return f"One of: {listed}" + (
                "." if self.is_closed else ", or another text."
            )
        return _EXPECTED[self.type]

    def schema(self) -> dict[str, Any]:
        """The JSON schema of its value."""
        schema: dict[str, Any] = {"type": self.type.value}
        if self.label:
            schema["title"] = self.label
        if self.is_closed:
            schema["enum"] = list(self.options)
        elif self.options:
            schema["examples"] = list(self.options)
        return schema


_EXPECTED = {
    ValueType.TEXT: "A text.",
    ValueType.NUMBER: "A number.",
    ValueType.INTEGER: "A whole number.",
    ValueType.BOOLEAN: "Yes or no.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Raises `QuestionError` when it is made of what cannot be asked.

    `details` is for people, of several lines; what is hidden in it is removed.
    """

    text: str
    fields: tuple[Field, ...] = (Field(),)
    details: str = ""

    def __post_init__(self) -> None:
        text = _one_line("question", self.text, LONGEST_TEXT)
        if not text:
            raise QuestionError("the question has no text")
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "details", visible_lines(self.details))
        if len(self.details) > LONGEST_DETAILS:
            raise QuestionError(
                f"the details are longer than {LONGEST_DETAILS} characters"
            )
        names = [field.name for field in self.fields]
        if not 1 <= len(names) <= MOST_FIELDS or len(set(names)) != len(names):
            raise QuestionError(f"a question has 1 to {MOST_FIELDS} distinct fields")

    @property
    def only_field(self) -> Field | None:
        """Its field, where it has just one: then a text answers it."""
        return self.fields[0] if len(self.fields) == 1 else None

    def schema(self) -> dict[str, Any]:
        """The JSON schema of an answer: of the value itself, or of a flat object."""
        if self.only_field:
            return self.only_field.schema()
        return {
            "type": "object",
            "properties": {field.name: field.schema() for field in self.fields},
            "required": [field.name for field in self.fields if field.is_required],
            "additionalProperties": False,
        }

    def expected(self) -> str:
        """What is accepted, for people."""
        if self.only_field:
            return self.only_field.expected()
        members = " ".join(
            f"«{field.name}»{'' if field.is_required else ' (may be left out)'}: "
            f"{field.expected()}"
            for field in self.fields
        )
        return f"A JSON object with these members. {members}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An accepted answer; `message_id` is its sender's name for it, where there is one."""

    value: JSONValue
    message_id: str = ""

    @property
    def text(self) -> str:
        """As the model and people read it."""
        if isinstance(self.value, str):
            return self.value
        return json.dumps(self.value, ensure_ascii=False)


def choice(text: str, options: Iterable[str], *, allow_free_text: bool) -> Question:
    """A question with options; none: a free text."""
    given = tuple(options)
    field = Field(options=given, allow_free_text=allow_free_text and bool(given))
    return Question(text=text, fields=(field,))


def digest(question: Question, asked_by: Iterable[str]) -> str:
    """The id of a question: of its words, its schema and the calls that are open (T9)."""
    told = [question.text, question.schema(), list(asked_by)]
    if question.details:
        told.append(question.details)
    text = json.dumps(told, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


# --- Answers --------------------------------------------------------------------------


def parse(question: Question, given: str | Mapping[str, JSONValue]) -> JSONValue:
    """The answer as a value, or an object of values; raise `BadAnswer` (T8)."""
    field = question.only_field
    if isinstance(given, str):
        return _of_text(field, given) if field else _of_object(question, _read(given))
    if field and set(given) == {field.name}:
        return _typed(field, given[field.name])
    if field:
        raise BadAnswer(f"{field.expected()} A text is enough.")
    return _of_object(question, given)


def _read(text: str) -> Mapping[str, JSONValue]:
    try:
        found = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BadAnswer("A JSON object is expected.")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _of_object(question: Question, given: Mapping[str, JSONValue]) -> JSONValue:
    known = {field.name: field for field in question.fields}
    for name in given:
        if name not in known:
            # It may be told to a peer, so it is no longer than a name can be.
            raise BadAnswer(
                "The question has no such member.", field=clean_text(name)[:64]
            )
    values: dict[str, JSONValue] = {}
    for name, field in known.items():
        if given.get(name) is not None:
            values[name] = _typed(field, given[name])
        elif field.is_required:
            raise BadAnswer(f"It is missing. {field.expected()}", field=name)
    return values


def _of_text(field: Field, text: str) -> JSONValue:
    if field.type is ValueType.TEXT:
        return _text(field, text)
    if field.type is ValueType.BOOLEAN:
        word = normalized(text).casefold()
        if word in _YES | _NO:
            return word in _YES
        raise _bad(field)
    return _typed(field, _number_in(field, text))


def _number_in(field: Field, text: str) -> JSONValue:
    word = normalized(text)
    # JSON's own form; what else Python reads as a number is not one here.
    if len(word) > 100 or not re.fullmatch(
        r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", word
    ):
        raise _bad(field)
    number = float(word) if re.search("[.eE]", word) else int(word)
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _typed(field: Field, value: JSONValue) -> JSONValue:
    if field.type is ValueType.TEXT and isinstance(value, str):
        return _text(field, value)
    if field.type is ValueType.BOOLEAN and isinstance(value, bool):
        return value
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if field.type is ValueType.NUMBER and is_number and _is_finite(value):
        return value
    if field.type is ValueType.INTEGER and is_number and _is_whole(value):
        return int(value)  # type: ignore[arg-type]
    raise _bad(field)


def _is_finite(number: Any) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def _is_whole(number: Any) -> bool:
    return isinstance(number, int) or (_is_finite(number) and number.is_integer())


def _text(field: Field, text: str) -> str:
    word = normalized(text)
    if word in field.options:
        return word
    is_storable = clean_text(word) == word
    if field.is_closed or not word or len(word) > LONGEST_ANSWER or not is_storable:
        raise _bad(field)
    return word


def _bad(field: Field) -> BadAnswer:
    name = "" if field.name == ANSWER else field.name
    return BadAnswer(field.expected(), field=name)


# --- Stored form ----------------------------------------------------------------------


def dump(question: Question) -> dict[str, Any]:
    return {
        "text": question.text,
        "details": question.details,
        "fields": [
            {
                "name": field.name,
                "label": field.label,
                "type": field.type.value,
                "options": list(field.options),
                "allow_free_text": field.allow_free_text,
                "is_required": field.is_required,
            }
            for field in question.fields
        ],
    }


def load(stored: Mapping[str, Any]) -> Question:
    fields = tuple(
        Field(
            name=field["name"],
            label=field["label"],
            type=ValueType(field["type"]),
            options=tuple(field["options"]),
            allow_free_text=field["allow_free_text"],
            is_required=field["is_required"],
        )
        for field in stored["fields"]
    )
    # Rows of before have none.
    details = stored.get("details", "")
    return Question(text=stored["text"], fields=fields, details=details)
