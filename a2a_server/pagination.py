"""Keyset paging over a client's tasks, newest status first (S65).

A page token says where the next page begins: behind one (status time, id). It is signed,
and bound to what the walk is about, so that a token of another client, another filter or
another time is refused instead of being misread. Page size, history length and
artifacts may differ from page to page and are no part of it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final
from uuid import UUID

from django.core import signing
from django.db.models import Q

from a2a_protocol.errors import invalid_params

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.db.models import QuerySet

    from a2a_server.models import Task

_SALT: Final = "a2a_server.pagination"


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


def page_after(
    tasks: QuerySet[Task], position: Position | None, size: int
) -> tuple[list[Task], Position | None]:
    """One page, and where the next one begins if there is one."""
    if position is not None:
        tasks = tasks.filter(_behind(position))
    found = list(tasks.order_by("-status_at", "-id")[: size + 1])
    if len(found) <= size:
        return found, None
    last = found[size - 1]
    return found[:size], Position(status_at=last.status_at, task_id=last.id)


def _behind(position: Position) -> Q:
    # The first condition alone bounds the index scan; an OR would not.
    same_moment = Q(status_at=position.status_at, id__lt=position.task_id)
    return Q(status_at__lte=position.status_at) & (
        Q(status_at__lt=position.status_at) | same_moment
    )


def _bad_token() -> Exception:
    return invalid_params(
        "pageToken", "It is not a token of this list; begin without one."
    )
