"""JSON text in and out, stricter than ``json`` where a lenient reader does harm.

Reading refuses, always as a ProtocolError:

- what is not UTF-8 or not JSON, a byte order mark (RFC 8259 section 8.1 forbids
  senders to add one), the literals NaN and Infinity, and nesting over 64 levels,
  the outermost value being the first: -32700;
- an object that names a member twice, because two readers of the same bytes would
  then see different requests: -32600.

U+0000, lone surrogates and numbers that are not finite as a double are valid JSON and
are found by ``find_bad_value``, so that the caller can say where they stand. They can
only come from a few spellings, and a body without any of these is never walked.

Writing is compact and never produces what reading would refuse.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias

from pydantic import JsonValue

from a2a_protocol.errors import (
    ErrorCode,
    FieldViolation,
    LocalError,
    ProtocolError,
    invalid_fields,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from a2a_protocol.request_id import RequestId

JSONValue: TypeAlias = JsonValue
_Container: TypeAlias = dict[str, JSONValue] | list[JSONValue]

# Protobuf's own parsers stop at 100; the document that a value is stored in adds
# levels of its own, which have to fit below that too.
MAX_DEPTH: Final = 64
BAD_TEXT: Final = "The text holds U+0000 or half a surrogate pair."

_NO_NAMES: Final[frozenset[str]] = frozenset()
_REPLACEMENT: Final = "\ufffd"
_SHOWN_NAME_LENGTH: Final = 64
# The largest double has 309 digits; int() refuses to read thousands of them.
_SURELY_FINITE_DIGITS: Final = 308
_POSSIBLY_FINITE_TEXT: Final = 310

_BAD_CHARACTER: Final = re.compile("[\x00\ud800-\udfff]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SUSPECT_ESCAPE: Final = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A body that is JSON.

    ``repeated`` says that some object names a member twice, ``outer_repeats`` which
    names of the outermost object are concerned. ``suspect`` is false only if no
    string or number in it can be one that ``find_bad_value`` finds.
    """

    value: JSONValue
    text: str
    suspect: bool
    repeated: bool = False
    outer_repeats: frozenset[str] = frozenset()


class _NeedsCareError(Exception):
    """The fast decoder met something that only the careful one can judge."""


def load_json(body: bytes) -> JSONValue:
    """Read a whole body. Raises ProtocolError (PARSE, INVALID_REQUEST), nothing else."""
    document = read_document(body)
    if document.repeated:
        raise repeated_name(None)
    return document.value


def read_document(body: bytes) -> Document:
    """Read a whole body, but leave repeated names to the caller. Raises PARSE."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise _parse_error("The body is not UTF-8.") from None
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError, _NeedsCareError):
        document = _read_with_care(text)
    else:
        document = Document(value=value, text=text, suspect=_has_suspect_escape(text))
    if _is_too_deep(document):
        raise _parse_error(f"The body is nested over {MAX_DEPTH} levels deep.")
    return document


def repeated_name(request_id: RequestId | None) -> ProtocolError:
    return ProtocolError(
        code=ErrorCode.INVALID_REQUEST,
        message="An object in the body names a member twice.",
        request_id=request_id,
    )


def find_bad_value(value: JSONValue, path: str = "") -> FieldViolation | None:
    """The first text or number in a value that this product does not take.

    ``path`` is where the value stands. Recursion is bounded by the reader's limit.
    """
    if isinstance(value, str):
        return None if is_clean(value) else _bad_text(path)
    if isinstance(value, dict):
        return _first_bad_member(value, path)
    if isinstance(value, list):
        found = (find_bad_value(v, f"{path}[{i}]") for i, v in enumerate(value))
        return next((violation for violation in found if violation), None)
    if isinstance(value, (int, float)) and not is_finite(value):
        return FieldViolation(path, "The number is too large.")
    return None


def refuse_bad_values(
    value: JSONValue, path: str = "", *, request_id: RequestId | None = None
) -> None:
    """Raise -32602 with the path of the first bad text or number, if there is one."""
    violation = find_bad_value(value, path)
    if violation is not None:
        raise invalid_fields((violation,), request_id=request_id)


def member_path(path: str, name: str) -> str:
    """The path of a member. Its name is the peer's, so it is cleaned and cut."""
    shown = clean_text(name[:_SHOWN_NAME_LENGTH])
    return f"{path}.{shown}" if path else shown


def is_finite(number: float) -> bool:
    """Whether a number, which may be an integer of any size, is finite as a double."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def dump_json(value: object) -> str:
    """Compact JSON text. Raises LocalError for what JSON or UTF-8 cannot carry."""
    try:
        text = _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError):
        raise _unwritable() from None
    if not text.isascii() and _SURROGATE.search(text):
        raise _unwritable()
    return text


def clean_text(text: str) -> str:
    """Text that a handler or a model made, fit to be stored and sent."""
    return text if is_clean(text) else _BAD_CHARACTER.sub(_REPLACEMENT, text)


def clean_value(value: JSONValue, *, depth: int = 1) -> JSONValue:
    """Data that a handler or a remote agent made, fit to be stored and sent.

    Texts and names are cleaned, numbers that are not finite become null. Raises
    LocalError when the value is nested too deep to be read again.
    """
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, (dict, list)) and depth > MAX_DEPTH:
        raise _unwritable()
    if isinstance(value, dict):
        return {
            clean_text(k): clean_value(v, depth=depth + 1) for k, v in value.items()
        }
    if isinstance(value, list):
        return [clean_value(item, depth=depth + 1) for item in value]
    if isinstance(value, (int, float)) and not is_finite(value):
        return None
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _unique_members(pairs: list[tuple[str, JSONValue]]) -> dict[str, JSONValue]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _NeedsCareError
    return members


def _finite_integer(digits: str) -> int:
    if len(digits) > _SURELY_FINITE_DIGITS:
        raise _NeedsCareError
    return int(digits)


def _finite_float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _NeedsCareError
    return number


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_unique_members,
    parse_constant=_refuse_constant,
    parse_int=_finite_integer,
    parse_float=_finite_float,
)
_ENCODER: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":")
)


def _read_with_care(text: str) -> Document:
    """Read again what the fast decoder refused, to learn why. Raises PARSE.

    A body that repeats a name may still turn out not to be JSON further on, and one
    with an integer of thousands of digits is JSON although int() refuses it.
    """
    is_repeated = False
    last_repeats = _NO_NAMES

    def note_repeats(pairs: list[tuple[str, JSONValue]]) -> dict[str, JSONValue]:
        nonlocal is_repeated, last_repeats
        members = dict(pairs)
        last_repeats = _NO_NAMES
        if len(members) != len(pairs):
            counted = Counter(name for name, _ in pairs)
            last_repeats = frozenset(name for name, n in counted.items() if n > 1)
            is_repeated = True
        return members

    decoder = json.JSONDecoder(
        object_pairs_hook=note_repeats,
        parse_constant=_refuse_constant,
        parse_int=_bounded_integer,
    )
    try:
        value = decoder.decode(text)
    except (ValueError, RecursionError):
        raise _parse_error(None) from None
    # The hook runs when an object ends, so the outermost one comes last.
    outer = last_repeats if isinstance(value, dict) else _NO_NAMES
    return Document(
        value=value,
        text=text,
        suspect=True,
        repeated=is_repeated,
        outer_repeats=outer,
    )


def _bounded_integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _POSSIBLY_FINITE_TEXT else float(digits)


def _has_suspect_escape(text: str) -> bool:
    # The plain search is many times faster and nearly always says no.
    return "\\u" in text and _SUSPECT_ESCAPE.search(text) is not None


def _is_too_deep(document: Document) -> bool:
    text = document.text
    if text.count("{") + text.count("[") <= MAX_DEPTH:
        return False
    level: list[_Container] = _containers([document.value])
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _containers(_members(outer))]
    return bool(level)


def _members(container: _Container) -> Iterable[JSONValue]:
    return container.values() if isinstance(container, dict) else container


def _containers(values: Iterable[JSONValue]) -> list[_Container]:
    return [value for value in values if isinstance(value, (dict, list))]


def is_clean(text: str) -> bool:
    return "\x00" not in text and (text.isascii() or not _SURROGATE.search(text))


def _first_bad_member(value: dict[str, JSONValue], path: str) -> FieldViolation | None:
    for name, member in value.items():
        place = member_path(path, name)
        if not is_clean(name):
            return _bad_text(place)
        if violation := find_bad_value(member, place):
            return violation
    return None


def _bad_text(path: str) -> FieldViolation:
    return FieldViolation(path, BAD_TEXT)


def _parse_error(message: str | None) -> ProtocolError:
    return ProtocolError(code=ErrorCode.PARSE, message=message)


def _unwritable() -> LocalError:
    return LocalError(code=ErrorCode.INTERNAL)
