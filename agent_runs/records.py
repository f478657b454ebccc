"""Values of any model's records: as JSON, from JSON, for people, and as one digest.

What tools show and drafts store goes through the model's own fields, so that a date, a
decimal or a relation means the same on both ways.
"""

from __future__ import annotations

import hashlib
import json
import math
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone

from agent_runs.cleaning import clean_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_runs.contents import JSONValue

    Field = models.Field[Any, Any]

EMPTY = "–"
_NO_SUCH = "there is no such record"
_PLAIN: tuple[type[bool | int | float | str], ...] = (bool, int, float, str)
_OF_NO_VALUE = frozenset({"null", "blank"})


# --- JSON -----------------------------------------------------------------------------


def value_of(record: models.Model, field: Field) -> JSONValue:
    """A date in ISO form, a decimal as text, a relation as the other's key."""
    value = field.value_from_object(record)
    if value is None or isinstance(field, models.JSONField):
        return clean_value(value)
    if isinstance(value, bool | int | str) or _is_finite_float(value):
        return clean_value(_plain(value))
    return clean_value(field.value_to_string(record))


def _is_finite_float(value: object) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def _plain(value: bool | int | float | str) -> bool | int | float | str:
    """Without the class of a member of an enumeration."""
    return next(kind(value) for kind in _PLAIN if isinstance(value, kind))


def values_of(record: models.Model, fields: Iterable[Field]) -> dict[str, JSONValue]:
    return {field.name: value_of(record, field) for field in fields}


def set_value(record: models.Model, field: Field, given: JSONValue) -> None:
    """Raise `ValidationError` for what is no value of the field; rules come later."""
    cleaned = clean_value(given)
    if cleaned is None and given is not None:
        raise ValidationError("this is no value for it")
    given = cleaned
    if isinstance(given, dict | list) and not isinstance(field, models.JSONField):
        raise ValidationError("this is not a single value")
    try:
        value = _from_json(field, given)
    except (TypeError, ValueError, OverflowError, ArithmeticError):
        raise ValidationError("this is no value for it") from None
    setattr(record, field.attname, value)


def _from_json(field: Field, given: JSONValue) -> Any:
    if given is None or isinstance(field, models.JSONField):
        return given
    if isinstance(given, bool) and not isinstance(field, models.BooleanField):
        raise ValueError
    if isinstance(given, float) and isinstance(field, models.IntegerField):
        # Python would cut the rest off.
        return _whole(given)
    value = field.to_python(given)
    if isinstance(value, datetime) and timezone.is_naive(value):
        return timezone.make_aware(value)
    return value


def _whole(number: float) -> int:
    if not number.is_integer():
        raise ValueError
    return int(number)


# --- Digest ---------------------------------------------------------------------------


def digest(record: models.Model) -> str:
    """Over all columns of a record that was just read."""
    columns = [
        [field.attname, None if _is_null(record, field) else _text(record, field)]
        for field in record._meta.concrete_fields
    ]
    return hashlib.sha256(json.dumps(columns).encode()).hexdigest()


def _is_null(record: models.Model, field: Field) -> bool:
    return field.value_from_object(record) is None


def _text(record: models.Model, field: Field) -> str:
    return str(field.value_to_string(record))


# --- For people and models ------------------------------------------------------------


def described(field: Field) -> str:
    """Its name and what it takes, in a few words."""
    if field.is_relation:
        return f"{field.name} (id of {field.related_model._meta.label_lower})"  # type: ignore[union-attr]
    if field.flatchoices:
        listed = ", ".join(str(value) for value, _ in field.flatchoices)
        return f"{field.name} (one of: {listed})"
    return f"{field.name} ({str(field.description) % vars(field)})"


def texts(field: Field, *values: JSONValue) -> list[str]:
    """Values as people read them; a relation costs one query for all of them."""
    if field.is_relation:
        names = _names_of(field, values)
        return [_named(value, names) for value in values]
    return [_shown(field, value) for value in values]


def _names_of(field: Field, values: Iterable[JSONValue]) -> dict[str, str]:
    target = field.target_field.attname  # type: ignore[attr-defined]
    wanted = [value for value in values if value is not None]
    if not wanted:
        return {}
    rows = field.related_model._base_manager  # type: ignore[union-attr]  # noqa: SLF001
    found = rows.filter(**{f"{target}__in": wanted})
    return {str(getattr(record, target)): str(record) for record in found}


def _named(value: JSONValue, names: Mapping[str, str]) -> str:
    if value is None:
        return ""
    name = names.get(str(value))
    return f"{name} ({value})" if name else str(value)


def _shown(field: Field, value: JSONValue) -> str:
    if value is None:
        return ""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, indent=2)
    if field.flatchoices:
        chosen = {str(key): str(label) for key, label in field.flatchoices}
        return chosen.get(str(value), str(value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def complaints(
    model: type[models.Model], error: ValidationError
) -> dict[str, list[str]]:
    """What is wrong by field; under the empty name what concerns the whole record.

    A relation to a record that is not there says so in words of its own, the same that
    are said of one that may not be seen (T4).
    """
    by_name = error.error_dict if hasattr(error, "error_dict") else {"": [error]}
    known = {field.name: field for field in model._meta.concrete_fields}
    return {
        name if name in known else "": [
            message for each in errors for message in _messages(known.get(name), each)
        ]
        for name, errors in by_name.items()
    }


def _messages(field: Field | None, error: ValidationError) -> list[str]:
    if field is not None and field.is_relation and error.code not in _OF_NO_VALUE:
        return [_NO_SUCH]
    return [str(message) for message in error.messages]


def no_such_record() -> ValidationError:
    return ValidationError(_NO_SUCH, code="invalid")
