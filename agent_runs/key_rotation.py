"""Re-encrypts stored values with the first configured key (R17).

Every `EncryptedTextField` of every installed app is found through the app registry. A row
is changed only where it still holds the value that was read, so that whoever writes
meanwhile wins; what is current already is left alone, so that a rotation that was
interrupted goes on where it stopped. Each row is a transaction of its own: it never holds
one while it waits for another, so nobody's order of locking can deadlock with it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cryptography.fernet import InvalidToken
from django.apps import apps

from agent_runs import encryption

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.db.models import Model, QuerySet

    from agent_runs.encryption import EncryptedTextField

logger = logging.getLogger(__name__)

# A checkpoint can have a megabyte.
CHUNK = 50


@dataclass(slots=True, kw_only=True)
class Rotation:
    """What became of one column's values. `unreadable`: no configured key opens them."""

    column: str
    rotated: int = 0
    current: int = 0
    changed_meanwhile: int = 0
    unreadable: int = 0


def rotate_all() -> Iterator[Rotation]:
    """One column after the other."""
    for model in apps.get_models():
        if model._meta.managed and not model._meta.proxy:
            for field in encryption.encrypted_fields(model):
                yield rotate_column(model, field)


def rotate_column(model: type[Model], field: EncryptedTextField) -> Rotation:
    rotation = Rotation(column=f"{model._meta.db_table}.{field.column}")
    last_pk: Any = None
    while True:
        rows = _rows(model).filter(**{f"{field.attname}__isnull": False})
        if last_pk is not None:
            rows = rows.filter(pk__gt=last_pk)
        chunk = list(rows.order_by("pk").values_list("pk", field.attname)[:CHUNK])
        if not chunk:
            return rotation
        for pk, sealed in chunk:
            _rotate_value(model, field, pk, sealed, rotation)
        last_pk = chunk[-1][0]


def _rows(model: type[Model]) -> QuerySet[Model]:
    """All of them, also those that a manager of the model's own hides."""
    return model._base_manager.all()  # noqa: SLF001 -- Django's documented name


def _rotate_value(
    model: type[Model],
    field: EncryptedTextField,
    pk: object,
    sealed: str,
    rotation: Rotation,
) -> None:
    if encryption.is_current(sealed):
        rotation.current += 1
        return
    try:
        fresh = encryption.rotate(sealed)
    except InvalidToken:
        rotation.unreadable += 1
        logger.warning("value does not open", extra={"cell": field.cell(pk)})
        return
    unchanged = _rows(model).filter(pk=pk, **{field.attname: sealed})
    if unchanged.update(**{field.attname: fresh}):
        rotation.rotated += 1
    else:
        rotation.changed_meanwhile += 1
