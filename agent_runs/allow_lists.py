"""Which models and fields tools may read, and which they may write (T5).

Two settings name them, `app_label.model` with its fields. A model is allowed when nothing
is wrong with its entry; system checks say what is wrong, and nothing here trusts that they
ran.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import Group, Permission, PermissionsMixin
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.base_session import AbstractBaseSession
from django.core.exceptions import FieldDoesNotExist
from django.db import models

from agent_runs.encryption import EncryptedTextField

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

READABLE = "AGENT_RUNS_READABLE_MODELS"
WRITABLE = "AGENT_RUNS_WRITABLE_MODELS"

# Named, not registered: a list that somebody forgets to fill protects nothing.
_PROTECTED_APPS = frozenset(
    {"admin", "auth", "contenttypes", "sessions", "agent_runs"}
    | {"a2a_server", "a2a_client"}
)
_PROTECTED_MODELS = (
    AbstractBaseUser,
    PermissionsMixin,
    Group,
    Permission,
    ContentType,
    AbstractBaseSession,
    LogEntry,
)
# Words of a field's name that make it a secret.
_SECRET_WORDS = frozenset(
    {"password", "passwd", "pwd", "passphrase", "passcode", "secret", "secrets"}
    | {"token", "tokens", "credential", "credentials", "apikey", "otp"}
)
_SECRET_PARTS = ("api_key", "private_key", "access_key", "encryption_key")


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedModel:
    model: type[models.Model]
    fields: tuple[models.Field[Any, Any], ...]

    @property
    def label(self) -> str:
        return self.model._meta.label_lower

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    def permission(self, action: str) -> str:
        """`view`, `add` or `change` as Django names it for this model."""
        options = self.model._meta
        return f"{options.app_label}.{action}_{options.model_name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """`check_id` is the number of the system check that reports it."""

    check_id: str
    sentence: str
    hint: str


def readable() -> dict[str, AllowedModel]:
    """By `app_label.model`, in the order of the setting."""
    return _allowed(READABLE)


def writable() -> dict[str, AllowedModel]:
    return _allowed(WRITABLE)


def problems(setting: str) -> list[Problem]:
    """What is wrong with the setting; its entries are as they were written."""
    return [
        problem
        for label, names in _entries(setting).items()
        for problem in _entry_problems(setting, label, names)
    ]


def _entries(setting: str) -> Mapping[str, Sequence[str]]:
    entries: Mapping[str, Sequence[str]] = getattr(settings, setting)
    return entries


def _allowed(setting: str) -> dict[str, AllowedModel]:
    return {
        label: _allowed_model(label, names)
        for label, names in _entries(setting).items()
        if not any(_entry_problems(setting, label, names))
    }


def _allowed_model(label: str, names: Sequence[str]) -> AllowedModel:
    model = apps.get_model(label)
    fields = tuple(model._meta.get_field(name) for name in dict.fromkeys(names))
    return AllowedModel(model=model, fields=fields)


# --- What is wrong --------------------------------------------------------------------

_UNKNOWN = "agent_runs.E006"
_MODEL = "agent_runs.E007"
_FIELD = "agent_runs.E008"
_FORM = "An entry is app_label.model:field,field, and entries are separated by spaces."


def _entry_problems(
    setting: str, label: str, names: Sequence[str]
) -> Iterator[Problem]:
    model = _model_named(label)
    if model is None:
        yield Problem(
            check_id=_UNKNOWN,
            sentence=f"{setting} names the model «{label}», and there is none.",
            hint=f"{_FORM} Models are written in lower case, such as newsroom.article.",
        )
        return
    if reason := _model_problem(setting, model):
        yield Problem(
            check_id=_MODEL,
            sentence=f"{setting} must not name {label}: {reason}.",
            hint="Take the entry out.",
        )
    for name in names:
        yield from _field_problems(setting, model, name)


def _model_named(label: str) -> type[models.Model] | None:
    try:
        model = apps.get_model(label)
    except (LookupError, ValueError):
        return None
    return model if model._meta.label_lower == label else None


def _model_problem(setting: str, model: type[models.Model]) -> str:
    options = model._meta
    if options.proxy or options.swapped:
        return "it has no table of its own"
    if isinstance(options.pk, models.CompositePrimaryKey):
        return "its key has several columns"
    if issubclass(model, AbstractBaseSession):
        return "sessions open accounts"
    return _write_model_problem(model) if setting == WRITABLE else ""


def _write_model_problem(model: type[models.Model]) -> str:
    if model._meta.auto_created:
        return "it only holds which records belong together"
    return "who may do what is decided by people" if _is_protected(model) else ""


def _is_protected(model: type[models.Model]) -> bool:
    user = get_user_model()
    memberships = {field.remote_field.through for field in user._meta.many_to_many}
    return (
        model._meta.app_label in _PROTECTED_APPS
        or model in memberships
        or issubclass(model, _PROTECTED_MODELS)
        or issubclass(user, model)
    )


def _field_problems(
    setting: str, model: type[models.Model], name: str
) -> Iterator[Problem]:
    label = model._meta.label_lower
    field = _field_named(model, name)
    if field is None:
        what = f"the field «{name}»" if name else "no field"
        sentence = f"{setting} names {what} of {label}; it needs one that there is."
        yield Problem(check_id=_UNKNOWN, sentence=sentence, hint=_FORM)
    elif reason := _field_problem(setting, field):
        yield Problem(
            check_id=_FIELD,
            sentence=f"{setting} must not name {label}.{name}: {reason}.",
            hint="Take the field out of the entry.",
        )


def _field_named(model: type[models.Model], name: str) -> Any:
    """None for what has no name or another one; a relation's column counts as neither."""
    try:
        field = model._meta.get_field(name)
    except FieldDoesNotExist:
        return None
    return field if field.name == name else None


def _field_problem(setting: str, field: Any) -> str:
    if not getattr(field, "concrete", False) or field.many_to_many:
        return "it has no column"
    if isinstance(field, EncryptedTextField) or _is_secret(field.name):
        return "what it holds is secret"
    return _write_problem(field) if setting == WRITABLE else ""


def _write_problem(field: models.Field[Any, Any]) -> str:
    if field.primary_key or isinstance(field, models.AutoField):
        return "a key is given once and for all"
    if not field.editable or isinstance(field, models.GeneratedField):
        return "people cannot edit it either"
    if isinstance(field, models.FileField):
        return "a text in it would name a file of somebody else"
    return ""


def _is_secret(name: str) -> bool:
    lower = name.lower()
    return not _SECRET_WORDS.isdisjoint(lower.split("_")) or any(
        part in lower for part in _SECRET_PARTS
    )
