"""ProtoJSON: from JSON values to the wire types and back.

Two readers share one walk:

- ``read`` is the server's. A request that breaks a rule is refused with the paths of
  all the fields concerned (a bounded number), in JSON names whichever way they were
  spelled. Both spellings of one field are as good as the same member twice: -32600.
- ``read_lenient`` is the client's. What a remote agent sent is read as far as it makes
  sense, and a note is kept of everything that was passed over: unknown values count as
  unset, missing required ones as empty, the first of several oneof members wins, list
  elements that cannot be read are left out. It refuses what is no object and what
  lacks the id that the whole message is about.

In both, unknown members are ignored and null is unset, except that a part's data may
be null. Texts are judged or cleaned here, but the insides of ``metadata`` and ``data``
are not walked by ``read``: ``json_text.refuse_bad_values`` has seen them before.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, cast

from a2a_protocol import errors, json_text, plans
from a2a_protocol.errors import ErrorCode, FieldViolation, LocalError, RemoteError
from a2a_protocol.scalars import BadValueError, UnsetEnumError
from a2a_protocol.timestamps import format_timestamp, parse_timestamp
from a2a_protocol.types.wire import OneofModel, WireModel

if TYPE_CHECKING:
    from a2a_protocol.json_text import JSONValue
    from a2a_protocol.plans import Field, Kind, Plan

__all__ = [
    "format_timestamp",
    "parse_timestamp",
    "read",
    "read_lenient",
    "write",
    "write_text",
]

Model = TypeVar("Model", bound=WireModel)
# Where a value stands, innermost step first; written out only when it is reported.
Place: TypeAlias = "tuple[Place, str | int] | None"

# A peer learns nothing from a thousand violations, and the log nothing from notes.
MAX_REPORTED: Final = 16


@dataclass(slots=True, kw_only=True)
class _Reading:
    """One call of a reader: how strict it is, and what it has found so far."""

    where: str
    strict: bool
    violations: list[FieldViolation] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)

    def refuse(self, place: Place, description: str) -> None:
        if len(self.violations) < MAX_REPORTED:
            self.violations.append(FieldViolation(self._path(place), description))

    def object_to(self, place: Place, description: str) -> None:
        """Refuse in a request; in a remote agent's answer go on and keep a note."""
        if self.strict:
            self.refuse(place, description)
        elif len(self.notes) < MAX_REPORTED:
            self.notes.append(f"{self._path(place)}: {description}")

    def _path(self, place: Place) -> str:
        if place is None:
            return self.where
        outer, step = place
        path = self._path(outer)
        if isinstance(step, int):
            return f"{path}[{step}]"
        return json_text.member_path(path, step)


def read(
    model_type: type[Model], value: JSONValue, *, where: str = "", strict: bool = True
) -> Model:
    """Raises ProtocolError (INVALID_PARAMS, INVALID_REQUEST), nothing else.

    ``where`` is the path at which the value stands. Not strict, it reads as
    ``read_lenient`` does, without the notes.
    """
    return _read(model_type, value, _Reading(where=where, strict=strict))


def read_lenient(
    model_type: type[Model], value: JSONValue
) -> tuple[Model, tuple[str, ...]]:
    """The model, and a note on everything passed over. Raises RemoteError."""
    reading = _Reading(where="", strict=False)
    model = _read(model_type, value, reading)
    return model, tuple(reading.notes)


def write(model: WireModel, *, canonical: bool = False) -> dict[str, JSONValue]:
    """Raises LocalError for a oneof that has no member set, or more than one.

    ``canonical`` leaves out every default that neither presence nor being required
    keeps in (specification 8.4.1); otherwise a few are shown for careless readers.
    """
    if isinstance(model, OneofModel) and len(model.set_members) != 1:
        raise LocalError(code=ErrorCode.INTERNAL)
    written: dict[str, JSONValue] = {}
    for field in plans.plan_of(type(model)).fields:
        value = getattr(model, field.name)
        if _is_written(model, field, value, canonical=canonical):
            written[field.json_name] = _write_field(field, value, canonical=canonical)
    return written


def write_text(model: WireModel) -> str:
    return json_text.dump_json(write(model))


def _read(model_type: type[Model], value: JSONValue, reading: _Reading) -> Model:
    model: WireModel | None = None
    try:
        model = _read_message(plans.plan_of(model_type), value, None, reading)
    except BadValueError as error:
        reading.refuse(None, error.description)
    if reading.violations:
        raise _refusal(reading)
    return cast("Model", model)


def _refusal(reading: _Reading) -> errors.ProtocolError:
    if reading.strict:
        return errors.invalid_fields(reading.violations)
    return RemoteError(
        code=ErrorCode.INVALID_AGENT_RESPONSE, violations=reading.violations
    )


def _read_message(
    plan: Plan, value: JSONValue, place: Place, reading: _Reading
) -> WireModel | None:
    """None when something was refused; the walk goes on to report more."""
    if not isinstance(value, dict):
        raise BadValueError("An object is needed here.")
    found: dict[str, Any] = {}
    chosen: Field | None = None
    for spelled, raw in value.items():
        field = plan.by_name.get(spelled)
        if field is None or _is_unset(field, spelled, value, reading):
            continue
        if field.oneof:
            if chosen is not None:
                reading.object_to(
                    place, f"Only one of {_oneof_names(plan)} may be set."
                )
                continue
            chosen = field
        _read_member(field, raw, found, (place, field.json_name), reading)
    if plan.oneof and chosen is None:
        reading.object_to(place, f"One of {_oneof_names(plan)} has to be set.")
    _complete(plan, found, place, reading)
    return None if reading.violations else plan.model(**found)


def _is_unset(
    field: Field, spelled: str, value: dict[str, JSONValue], reading: _Reading
) -> bool:
    if spelled != field.json_name and field.json_name in value:
        if reading.strict:
            raise errors.ProtocolError(
                code=ErrorCode.INVALID_REQUEST,
                message=f"Both spellings of {field.json_name} are used.",
            )
        return True
    return value[spelled] is None and not field.null_is_value


def _read_member(
    field: Field,
    raw: JSONValue,
    found: dict[str, Any],
    place: Place,
    reading: _Reading,
) -> None:
    refused = len(reading.violations)
    try:
        value = _read_field(field, raw, place, reading)
    except UnsetEnumError:
        return
    except BadValueError as error:
        _object_to(field, place, error.description, reading)
        value = plans.substitute_for(field)
    # A list whose elements were refused is not to be called empty as well.
    if len(reading.violations) == refused:
        _check(field, value, place, reading)
    found[field.name] = value


def _check(field: Field, value: Any, place: Place, reading: _Reading) -> None:
    if not reading.strict and not field.key:
        return
    for check in field.checks:
        description = check(value)
        if description is not None:
            reading.refuse(place, description)


def _complete(
    plan: Plan, found: dict[str, Any], place: Place, reading: _Reading
) -> None:
    for field in plan.required:
        if field.name not in found:
            here = (place, field.json_name)
            _object_to(field, here, "This is required.", reading)
            found[field.name] = plans.substitute_for(field)


def _object_to(field: Field, place: Place, description: str, reading: _Reading) -> None:
    if field.key:
        reading.refuse(place, description)
    else:
        reading.object_to(place, description)


def _read_field(field: Field, raw: JSONValue, place: Place, reading: _Reading) -> Any:
    if field.shape == "list":
        return _read_list(field, raw, place, reading)
    if field.shape == "map":
        return _read_map(field.kind, raw, place, reading)
    return _read_one(field.kind, raw, place, reading)


def _read_one(kind: Kind, raw: JSONValue, place: Place, reading: _Reading) -> Any:
    if kind.message is not None:
        return _read_message(plans.plan_of(kind.message), raw, place, reading)
    if not reading.strict:
        raw = _cleaned(raw)
    return kind.read(raw)


def _cleaned(raw: JSONValue) -> JSONValue:
    if json_text.find_bad_value(raw) is None:
        return raw
    return json_text.clean_value(raw)


def _read_list(
    field: Field, raw: JSONValue, place: Place, reading: _Reading
) -> tuple[Any, ...]:
    if not isinstance(raw, list):
        raise BadValueError("A list is needed here.")
    if reading.strict and len(raw) > field.max_items:
        raise BadValueError(f"There are over {field.max_items} {field.json_name}.")
    items = []
    for index, element in enumerate(raw):
        here = (place, index)
        try:
            item = _read_one(field.kind, element, here, reading)
        except BadValueError as error:
            reading.object_to(here, error.description)
            continue
        # A part of a kind that is not known yet says nothing to this reader.
        if not (isinstance(item, OneofModel) and item.kind is None):
            items.append(item)
    return tuple(items)


def _read_map(
    kind: Kind, raw: JSONValue, place: Place, reading: _Reading
) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise BadValueError("An object is needed here.")
    members = {}
    for name, member in raw.items():
        here = (place, name)
        try:
            value = _read_one(kind, member, here, reading)
            key = _read_one(plans.STRING, name, here, reading)
        except BadValueError as error:
            reading.object_to(here, error.description)
            continue
        members[key] = value
    return members


def _oneof_names(plan: Plan) -> str:
    return ", ".join(field.json_name for field in plan.oneof)


def _is_written(model: WireModel, field: Field, value: Any, *, canonical: bool) -> bool:
    if field.required or value != field.default:
        return True
    if field.shown_empty:
        return not canonical
    # Null is what data has when it is unset, and may be the value as well.
    return (
        field.null_is_value
        and isinstance(model, OneofModel)
        and model.kind == field.name
    )


def _write_field(field: Field, value: Any, *, canonical: bool) -> JSONValue:
    if field.shape == "list":
        return [_write_one(field.kind, item, canonical=canonical) for item in value]
    if field.shape == "map":
        return {
            name: _write_one(field.kind, item, canonical=canonical)
            for name, item in value.items()
        }
    return _write_one(field.kind, value, canonical=canonical)


def _write_one(kind: Kind, value: Any, *, canonical: bool) -> JSONValue:
    if kind.message is not None:
        return write(value, canonical=canonical)
    if kind.write is not None and value is not None:
        return kind.write(value)
    return cast("JSONValue", value)
