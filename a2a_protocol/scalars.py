"""How ProtoJSON spells single values, in and out.

A reader takes a JSON value and returns a Python one, or raises ``BadValueError`` with a
sentence for the peer; where the value stands is the caller's knowledge. The rules are
those of the ProtoJSON guide, read strictly: nothing is guessed and nothing is shortened.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from a2a_protocol import json_text, timestamps
from a2a_protocol.json_text import JSONValue
from a2a_protocol.types.task import Role, TaskState

if TYPE_CHECKING:
    from datetime import datetime
    from enum import StrEnum

Reader: TypeAlias = Callable[[JSONValue], Any]
Writer: TypeAlias = Callable[[Any], JSONValue]

# The proto numbers its enum values in the order in which the classes list them.
ENUM_NUMBERS: Final[Mapping[type[StrEnum], Mapping[int, StrEnum]]] = MappingProxyType(
    {kind: MappingProxyType(dict(enumerate(kind))) for kind in (TaskState, Role)}
)

_INT32_MIN: Final = -(2**31)
_INT32_MAX: Final = 2**31 - 1
# The number grammar of RFC 8259, bounded: no int32 needs more than a few characters.
_NUMBER_TEXT: Final = re.compile(
    r"-?(?:0|[1-9][0-9]{0,20})(?:\.[0-9]{1,20})?(?:[eE][+-]?[0-9]{1,3})?"
)
_MAX_PADS: Final = 2
_BASE64_URL: Final = str.maketrans("-_", "+/")


class BadValueError(Exception):
    def __init__(self, description: str) -> None:
        self.description = description
        super().__init__(description)


class UnknownEnumError(BadValueError):
    """A name or number that the proto does not have, maybe of a later version."""


class UnsetEnumError(Exception):
    """The JavaScript SDK writes UNRECOGNIZED for an enum that nobody set."""


def read_string(value: JSONValue) -> str:
    if not isinstance(value, str):
        raise BadValueError("A string is needed here.")
    if not json_text.is_clean(value):
        raise BadValueError(json_text.BAD_TEXT)
    return value


def read_bool(value: JSONValue) -> bool:
    if isinstance(value, bool):
        return value
    raise BadValueError("true or false is needed here.")


def read_bytes(value: JSONValue) -> bytes:
    """Either base64 alphabet, but not both at once, padded or not."""
    if isinstance(value, str):
        try:
            return binascii.a2b_base64(_standard_base64(value), strict_mode=True)
        except ValueError:
            pass
    raise BadValueError("Base64 is needed here.")


def read_int32(value: JSONValue) -> int:
    """An integer in any spelling of a number, or the same in a string."""
    number = _number(value)
    if number is None or not _INT32_MIN <= number <= _INT32_MAX or number % 1:
        raise BadValueError("A whole number of 32 bits is needed here.")
    return int(number)


def read_timestamp(value: JSONValue) -> datetime:
    moment = timestamps.moment_or_none(value) if isinstance(value, str) else None
    if moment is None:
        raise BadValueError("A moment in RFC 3339 with an offset is needed here.")
    return moment


def read_struct(value: JSONValue) -> dict[str, JSONValue]:
    if isinstance(value, dict):
        return value
    raise BadValueError("An object is needed here.")


def read_value(value: JSONValue) -> JSONValue:
    return value


def enum_reader(kind: type[StrEnum]) -> Reader:
    names = {member.value: member for member in kind}
    numbers = ENUM_NUMBERS[kind]
    # The first one means that nothing was said, so nobody needs it.
    needed = f"One of {', '.join(list(names)[1:])} is needed here."

    def read_enum(value: JSONValue) -> StrEnum:
        if value == "UNRECOGNIZED":
            raise UnsetEnumError
        member = _member(value, names, numbers)
        if member is None:
            raise UnknownEnumError(needed)
        return member

    return read_enum


def write_bytes(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


def write_enum(value: StrEnum) -> str:
    return value.value


def _member(
    value: JSONValue, names: Mapping[str, StrEnum], numbers: Mapping[int, StrEnum]
) -> StrEnum | None:
    if isinstance(value, str):
        return names.get(value)
    # True is an int to isinstance and equal to 1 as a key.
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return numbers.get(int(value)) if value == value // 1 else None
    return None


def _standard_base64(text: str) -> str:
    if "-" in text or "_" in text:
        if "+" in text or "/" in text:
            raise ValueError(text)
        text = text.translate(_BASE64_URL)
    pads = len(text) - len(text.rstrip("="))
    if pads > _MAX_PADS:
        raise ValueError(text)
    remainder = len(text) % 4
    if not remainder:
        return text
    if pads or remainder == 1:
        raise ValueError(text)
    return text + "=" * (4 - remainder)


def _number(value: JSONValue) -> int | float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, str) and _NUMBER_TEXT.fullmatch(value):
        return float(value)
    return None
