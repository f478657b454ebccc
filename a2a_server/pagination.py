"""Keyset paging over a client's tasks, newest status first (S65).

A page token says where the next page begins: behind one (status time, id). It is signed,
and bound to what the walk is about, so that a token of another client, another filter or
another time is refused instead of being misread. Page size, history length and
artifacts may differ from page to page and are no part of it.

A page is bounded in bytes too. The database adds up what the rows hold before it sends
them, so that a page costs no more memory than it may.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from django.core import signing
from django.db.models import (
    Count,
    F,
    Func,
    IntegerField,
    Q,
    RowRange,
    Sum,
    Value,
    Window,
)

from a2a_protocol.errors import invalid_params
from a2a_server.models import Task
from agent_runs.statements import value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.db.backends.base.base import BaseDatabaseWrapper
    from django.db.models import QuerySet
    from django.db.models.sql.compiler import SQLCompiler

_SALT: Final = "a2a_server.pagination"
# Of the stored texts; they get shorter when they are decrypted.
MAX_PAGE_BYTES: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """The last task of a page."""

    status_at: datetime
    task_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """What a token is bound to; two walks that differ anywhere do not share tokens."""

    client_id: int
    base_url: str
    skills: Sequence[int]
    context_id: str
    state: str
    status_after: datetime | None

    def digest(self) -> str:
        after = self.status_after.isoformat() if self.status_after else None
        members = [
            self.client_id,
            self.base_url,
            sorted(self.skills),
            self.context_id,
            self.state,
            after,
        ]
        return hashlib.sha256(json.dumps(members).encode()).hexdigest()


def make_token(walk: Walk, position: Position) -> str:
    place = [position.status_at.isoformat(), position.task_id.hex]
    return signing.dumps([walk.digest(), *place], salt=_SALT)


def read_token(walk: Walk, token: str) -> Position:
    """Where to go on; -32602 for everything that this walk was not given."""
    try:
        digest, status_at, task_id = signing.loads(token, salt=_SALT)
        position = Position(
            status_at=datetime.fromisoformat(status_at), task_id=UUID(hex=str(task_id))
        )
    except (signing.BadSignature, ValueError, TypeError):
        raise _bad_token() from None
    if digest != walk.digest():
        raise _bad_token()
    return position


def page(
    tasks: QuerySet[Task], size: int, *, shown: Sequence[str], is_later: bool
) -> QuerySet[Any, Any]:
    """For a statement: rows of (id, status_at, candidates, *shown) of one page and more.

    It ends with the task whose shown texts make it too heavy, at the latest. A later
    page takes the values of `place` besides those of `tasks`.
    """
    rest = tasks.filter(_behind()) if is_later else tasks
    # One more than the page, so that it is known whether another one follows.
    candidates = rest.order_by("-status_at", "-id").values("pk")[: size + 1]
    found = _light_enough(tasks.filter(pk__in=candidates), shown)
    rows = found.order_by("-status_at", "-id")
    return rows.values_list("id", "status_at", "candidates", *shown, named=True)


def place(position: Position | None) -> dict[str, Any]:
    """The values that say where a later page begins."""
    if position is None:
        return {}
    return {"last_status_at": position.status_at, "last_id": position.task_id}


def cut(rows: list[Any], size: int) -> tuple[list[Any], Position | None]:
    """One page of what was found, and where the next one begins if there is one."""
    page = rows[:size]
    if not page or len(page) == page[0].candidates:
        return page, None
    return page, Position(status_at=page[-1].status_at, task_id=page[-1].id)


def _light_enough(tasks: QuerySet[Task], weighed: Sequence[str]) -> QuerySet[Task]:
    order = [F("status_at").desc(), F("id").desc()]
    weight = sum((_Bytes(name) for name in weighed), start=Value(0))
    annotated = tasks.annotate(
        bytes_before=Window(Sum(weight), order_by=order, frame=RowRange(end=-1)),
        candidates=Window(Count("pk")),
    )
    # The first row has nothing before it, and is always on the page.
    return annotated.filter(
        Q(bytes_before__isnull=True) | Q(bytes_before__lt=MAX_PAGE_BYTES)
    )


class _Bytes(Func):
    """The size of a text that may be null; its content is not even read for it."""

    function = "OCTET_LENGTH"
    template = "COALESCE(%(function)s(%(expressions)s), 0)"
    output_field = IntegerField()

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> tuple[str, Any]:
        # Sealed texts are ASCII: as many bytes as characters.
        return self.as_sql(compiler, connection, function="LENGTH", **context)


def _behind() -> Q:
    status_at = value(Task, "status_at", "last_status_at")
    # The first condition alone bounds the index scan; an OR would not.
    same_moment = Q(status_at=status_at, id__lt=value(Task, "id", "last_id"))
    return Q(status_at__lte=status_at) & (Q(status_at__lt=status_at) | same_moment)


def _bad_token() -> Exception:
    return invalid_params(
        "pageToken", "It is not a token of this list; begin without one."
    )
