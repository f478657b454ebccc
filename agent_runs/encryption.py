"""Text that the database keeps encrypted, bound to the cell it was written for (R17).

`EncryptedTextField` is the one field class for every stored secret and content. A value
travels in two forms only:

- plain `str` on a model instance, sealed when the instance is saved;
- `Sealed`, the Fernet token, in every query that has no instance (`update`, `values`).

A plain `str` in a query raises, so that no path can store it unencrypted by accident. The
plaintext starts with `table.column:primary key`; a token copied to another cell does not
open there. Keys are `A2A_ENCRYPTION_KEYS`: the first encrypts, all decrypt.
"""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import models

if TYPE_CHECKING:
    _TextField = models.TextField[Any, Any]
else:
    _TextField = models.TextField


class EncryptionError(Exception):
    """A stored value does not open: wrong keys, or not the cell it was written for."""


class Sealed(str):
    """A Fernet token as the column holds it."""

    __slots__ = ()


@lru_cache(maxsize=4)
def _fernet(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])


def configured_keys() -> tuple[str, ...]:
    """The usable keys; with DEBUG alone, one derived from SECRET_KEY stands in."""
    keys = tuple(settings.A2A_ENCRYPTION_KEYS)
    if keys:
        return keys
    if settings.DEBUG:
        digest = hashlib.sha256(settings.SECRET_KEY.encode()).digest()
        return (base64.urlsafe_b64encode(digest).decode(),)
    raise ImproperlyConfigured("A2A_ENCRYPTION_KEYS is empty.")


def seal(cell: str, plaintext: str) -> Sealed:
    data = f"{cell}\n{plaintext}".encode()
    return Sealed(_fernet(configured_keys()).encrypt(data).decode())


def unseal(cell: str, sealed: str) -> str:
    try:
        data = _fernet(configured_keys()).decrypt(sealed.encode()).decode()
    except InvalidToken as error:
        raise EncryptionError(
            f"{cell} does not open with the configured keys"
        ) from error
    written_for, _, plaintext = data.partition("\n")
    if written_for != cell:
        raise EncryptionError(f"{cell} holds a value of another cell")
    return plaintext


def can_seal() -> bool:
    """Whether a secret that is entered now could be stored."""
    try:
        seal("trial", "")
    except (ImproperlyConfigured, ValueError):
        return False
    return True


def is_as_stored(record: models.Model, stored: models.Model, name: str) -> bool:
    """Whether saving `record` over `stored` would keep the secret of this column.

    True for one that was only read with the row, also where it was opened since, and
    where there is none.
    """
    mine = vars(record).get(name)
    # A sealed value was only read; an opened one may be what is stored.
    return isinstance(mine, Sealed) or not mine or bool(mine == getattr(stored, name))


def is_current(sealed: str) -> bool:
    """Whether the first key opens this token already."""
    try:
        Fernet(configured_keys()[0]).decrypt(sealed.encode())
    except InvalidToken:
        return False
    return True


def rotate(sealed: str) -> Sealed:
    return Sealed(_fernet(configured_keys()).rotate(sealed.encode()).decode())


class _Cell:
    """Opens the sealed value when it is read, once per instance."""

    def __init__(self, field: EncryptedTextField) -> None:
        self.field = field

    def __get__(self, instance: models.Model | None, owner: Any = None) -> Any:
        if instance is None:
            return self
        values, name = instance.__dict__, self.field.attname
        if name not in values:
            instance.refresh_from_db(fields=[name])
        value = values[name]
        if isinstance(value, Sealed):
            value = values[name] = self.field.unseal(instance.pk, value)
        return value

    def __set__(self, instance: models.Model, value: str | None) -> None:
        instance.__dict__[self.field.attname] = value


class EncryptedTextField(_TextField):
    """Text encrypted at rest; never filter, order or search by it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("editable", False)
        super().__init__(*args, **kwargs)

    def contribute_to_class(
        self, cls: type[models.Model], name: str, private_only: bool = False
    ) -> None:
        super().contribute_to_class(cls, name, private_only)
        setattr(cls, self.attname, _Cell(self))

    def cell(self, pk: object) -> str:
        return f"{self.model._meta.db_table}.{self.column}:{pk}"

    def seal(self, pk: object, plaintext: str) -> Sealed:
        return seal(self.cell(pk), plaintext)

    def unseal(self, pk: object, sealed: str) -> str:
        return unseal(self.cell(pk), sealed)

    def pre_save(self, model_instance: models.Model, add: bool) -> Sealed | None:
        value = model_instance.__dict__.get(self.attname)
        if value is None or isinstance(value, Sealed):
            return value
        if model_instance.pk is None:
            raise EncryptionError(f"{self} needs its row's key before it is stored")
        return self.seal(model_instance.pk, str(value))

    def get_prep_value(self, value: Any) -> Any:
        if value is None or isinstance(value, Sealed):
            return None if value is None else str(value)
        raise EncryptionError(f"{self} takes sealed values only")

    def from_db_value(self, value: str | None, *args: Any) -> Sealed | None:
        return None if value is None else Sealed(value)

    def deconstruct(self) -> Any:
        name, path, args, kwargs = super().deconstruct()
        return name, path, args, kwargs | {"editable": False}


def field_of(model: type[models.Model], name: str) -> EncryptedTextField:
    field = model._meta.get_field(name)
    if not isinstance(field, EncryptedTextField):
        raise TypeError(f"{name} is not encrypted")
    return field


def encrypted_fields(model: type[models.Model]) -> list[EncryptedTextField]:
    return [f for f in model._meta.local_fields if isinstance(f, EncryptedTextField)]


__all__ = [
    "EncryptedTextField",
    "EncryptionError",
    "Sealed",
    "can_seal",
    "configured_keys",
    "encrypted_fields",
    "field_of",
    "is_as_stored",
    "is_current",
    "rotate",
    "seal",
    "unseal",
]
