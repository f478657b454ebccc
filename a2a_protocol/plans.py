"""What the codec knows of each message, worked out once from the model's fields.

``plan_of`` is the only reader of pydantic's field objects; the codec and the tests that
compare the types with the proto both ask the plan. The rules that it reads a model by
are those of ``a2a_protocol.types.wire``.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    TypeAlias,
    Union,
    get_args,
    get_origin,
)

from a2a_protocol import scalars, timestamps
from a2a_protocol.types.wire import Rule, StructMark, ValueMark, WireModel

Shape: TypeAlias = Literal["one", "list", "map"]
Check: TypeAlias = Callable[[Any], str | None]

_NO_RULE: Final = Rule()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A type of values. ``proto_name`` is its name in the proto.

    ``zero`` is the value that is left out; None where the type has none, because it is
    a message. ``message`` is set for our own messages, which are read by their plan.
    """

    proto_name: str
    read: scalars.Reader = scalars.read_value
    write: scalars.Writer | None = None
    zero: Any = None
    message: type[WireModel] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """``default`` is the value that means unset.

    ``checks`` return a sentence about a value that breaks a rule. They hold for
    requests, and for a ``key`` in whatever is read. ``max_items`` holds for
    requests alone, before an element is read.
    """

    name: str
    json_name: str
    kind: Kind
    shape: Shape
    required: bool
    presence: bool
    oneof: str | None
    key: bool
    shown_empty: bool
    default: Any
    max_items: int
    checks: tuple[Check, ...]

    @property
    def null_is_value(self) -> bool:
        return self.kind is VALUE

    @property
    def proto_type(self) -> str:
        name = self.kind.proto_name
        return f"map<string, {name}>" if self.shape == "map" else name


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """``by_name`` has both spellings of each field."""

    model: type[WireModel]
    fields: tuple[Field, ...]
    by_name: Mapping[str, Field]
    required: tuple[Field, ...]
    oneof: tuple[Field, ...]


STRUCT: Final = Kind(proto_name="google.protobuf.Struct", read=scalars.read_struct)
VALUE: Final = Kind(proto_name="google.protobuf.Value")
STRING: Final = Kind(proto_name="string", read=scalars.read_string, zero="")
_SCALARS: Final[Mapping[type[Any], Kind]] = types.MappingProxyType(
    {
        str: STRING,
        bool: Kind(proto_name="bool", read=scalars.read_bool, zero=False),
        int: Kind(proto_name="int32", read=scalars.read_int32, zero=0),
        bytes: Kind(
            proto_name="bytes",
            read=scalars.read_bytes,
            write=scalars.write_bytes,
            zero=b"",
        ),
        datetime: Kind(
            proto_name="google.protobuf.Timestamp",
            read=scalars.read_timestamp,
            write=timestamps.format_timestamp,
        ),
    }
)
_MARKED: Final[Mapping[type[Any], Kind]] = types.MappingProxyType(
    {StructMark: STRUCT, ValueMark: VALUE}
)


@cache
def plan_of(model: type[WireModel]) -> Plan:
    fields = tuple(_field(model, name) for name in model.model_fields)
    return Plan(
        model=model,
        fields=fields,
        by_name={
            spelling: field
            for field in fields
            for spelling in (field.name, field.json_name)
        },
        required=tuple(field for field in fields if field.required),
        oneof=tuple(field for field in fields if field.oneof),
    )


def substitute_for(field: Field) -> Any:
    """What a lenient reader takes for a field that is not there or not readable."""
    message = field.kind.message
    if not field.required or field.shape != "one" or message is None:
        return field.default
    inner = plan_of(message)
    return message(**{each.name: substitute_for(each) for each in inner.required})


def json_name(name: str) -> str:
    return re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), name)


def _field(model: type[WireModel], name: str) -> Field:
    info = model.model_fields[name]
    rule = next((m for m in info.metadata if isinstance(m, Rule)), _NO_RULE)
    kind, shape, optional = _type_of(info.annotation, tuple(info.metadata))
    # Messages, and the well-known types that are messages, always have presence, so
    # the proto does not mark them.
    marked_optional = optional and kind.zero is not None and rule.oneof is None
    return Field(
        name=name,
        json_name=json_name(name),
        kind=kind,
        shape=shape,
        required=info.is_required(),
        presence=marked_optional,
        oneof=rule.oneof,
        key=rule.key,
        shown_empty=rule.shown_empty,
        default=_default(kind, shape, optional=optional),
        max_items=rule.max_items,
        checks=tuple(_checks(rule, kind, required=info.is_required())),
    )


def _default(kind: Kind, shape: Shape, *, optional: bool) -> Any:
    if optional:
        return None
    return {"one": kind.zero, "list": (), "map": {}}[shape]


def _type_of(annotation: Any, marks: tuple[Any, ...]) -> tuple[Kind, Shape, bool]:
    """The kind, the shape, and whether None is allowed."""
    for mark in marks:
        if type(mark) in _MARKED:
            return _MARKED[type(mark)], "one", True
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type_of(arguments[0], arguments[1:])
    if origin in (Union, types.UnionType):
        kind, shape, _ = _type_of(arguments[0], ())
        return kind, shape, True
    if origin is tuple:
        return _kind_of(arguments[0]), "list", False
    if origin is dict:
        return _kind_of(arguments[1]), "map", False
    return _kind_of(annotation), "one", False


def _kind_of(python_type: type[Any]) -> Kind:
    if python_type in _SCALARS:
        return _SCALARS[python_type]
    if issubclass(python_type, WireModel):
        return Kind(proto_name=python_type.__name__, message=python_type)
    return _enum_kind(python_type)


def _enum_kind(enum: type[StrEnum]) -> Kind:
    return Kind(
        proto_name=enum.__name__,
        read=scalars.enum_reader(enum),
        write=scalars.write_enum,
        zero=scalars.ENUM_NUMBERS[enum][0],
    )


def _checks(rule: Rule, kind: Kind, *, required: bool) -> Iterator[Check]:
    if rule.filled:
        yield _check_filled
    if required and isinstance(kind.zero, StrEnum):
        yield _check_specified(kind.zero)
    if rule.minimum is not None or rule.maximum is not None:
        yield _check_range(rule.minimum, rule.maximum)
    if rule.max_length is not None:
        yield _check_length(rule.max_length)
    if rule.printable:
        yield _check_printable


def _check_filled(value: str | tuple[object, ...]) -> str | None:
    if isinstance(value, str):
        return None if value.strip() else "This may not be blank."
    return None if value else "One element at least is needed here."


def _check_specified(unspecified: StrEnum) -> Check:
    def check(value: StrEnum) -> str | None:
        return "This has to be specified." if value is unspecified else None

    return check


def _check_range(minimum: int | None, maximum: int | None) -> Check:
    def check(value: int) -> str | None:
        if minimum is not None and value < minimum:
            return f"This may not be below {minimum}."
        if maximum is not None and value > maximum:
            return f"This may not be above {maximum}."
        return None

    return check


def _check_length(maximum: int) -> Check:
    def check(value: str) -> str | None:
        if len(value) <= maximum:
            return None
        return f"This may not be longer than {maximum} characters."

    return check


def _check_printable(value: str) -> str | None:
    return None if value.isprintable() else "Only printable characters may be used."
