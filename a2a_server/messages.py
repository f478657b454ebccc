"""The message ids a client has used, and what stood behind them (S47).

A message id that was used before is no new message; its task is the answer. The unique
index over (client, dedupe key) decides between two of the same at one moment. Of the
content only a keyed hash is kept, enough to notice that the same id came with another
content.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac

from a2a_protocol import proto_json
from a2a_server import own_tasks
from a2a_server.models import TaskMessage
from agent_runs.statements import Insert, Select, value

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from django.db.models import QuerySet

    from a2a_protocol import types
    from a2a_server.models import Task

logger = logging.getLogger(__name__)

_SALT: Final = "a2a_server.messages"


def _earlier() -> QuerySet[TaskMessage]:
    # From the message to its task: the unique index finds it, whatever else there is.
    found = TaskMessage.objects.filter(
        client_id=value(TaskMessage, "client_id"),
        dedupe_key=value(TaskMessage, "dedupe_key"),
    )
    columns = (*own_tasks.COLUMNS, "profile__skill_id")
    shown = (f"task__{name}" for name in columns)
    return found.select_related("task__profile").only("fingerprint", *shown)


_FIND: Final = Select(_earlier)
_INSERT: Final = Insert(
    TaskMessage,
    "client_id",
    "task_id",
    "dedupe_key",
    "fingerprint",
    "created_at",
)


def find_task(client_id: int, request: types.SendMessageRequest) -> Task | None:
    """The task that an earlier message of the same id belongs to.

    A difference in content is logged, without the content.
    """
    key = dedupe_key(request)
    if key is None:
        return None
    earlier = _FIND.first(client_id=client_id, dedupe_key=key)
    if earlier is None:
        return None
    if not constant_time_compare(earlier.fingerprint, fingerprint(request)):
        logger.warning(
            "message id used again with other content",
            extra={"client": client_id, "task": str(earlier.task_id)},
        )
    return earlier.task


def insert(
    request: types.SendMessageRequest, *, client_id: int, task_id: UUID, now: datetime
) -> None:
    """Raises IntegrityError when the id was used; the task may be inserted after it."""
    _INSERT.execute(
        client_id=client_id,
        task_id=task_id,
        dedupe_key=dedupe_key(request),
        fingerprint=fingerprint(request),
        created_at=now,
    )


def dedupe_key(request: types.SendMessageRequest) -> str | None:
    if not settings.A2A_SERVER_DEDUPLICATE_MESSAGES:
        return None
    return request.message.message_id


def fingerprint(request: types.SendMessageRequest) -> str:
    """A keyed hash of what was asked; the order of members does not count."""
    content = [proto_json.write(request.message), request.metadata]
    text = json.dumps(content, sort_keys=True)
    return salted_hmac(_SALT, text, algorithm="sha256").hexdigest()
