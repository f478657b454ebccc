"""A client's own tasks: every read of one goes through here and is one query.

The query that reads also authorizes. A foreign task, a purged one, one that never was
and an id that cannot be one are the same refusal, byte for byte (S64).
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from a2a_server import documents
from a2a_server.documents import Document
from a2a_server.errors import Reason, refuse
from a2a_server.models import Task

if TYPE_CHECKING:
    from django.db.models import QuerySet

_COLUMNS = (
    "client_id",
    "run_id",
    "context_id",
    "state",
    "status_at",
    "head",
    "history",
    "artifacts",
    "reply",
)


def tasks_of(client_id: int) -> QuerySet[Task]:
    """Its tasks with their documents, which are decrypted only as far as they are read."""
    return Task.objects.filter(client_id=client_id).only(*_COLUMNS)


def with_skill(tasks: QuerySet[Task]) -> QuerySet[Task]:
    """The same, with the skill id of the profile at hand."""
    return tasks.select_related("profile").only(*_COLUMNS, "profile__skill_id")


def find(tasks: QuerySet[Task], task_id: str) -> Task:
    """The task of that id among a client's own, or TASK_NOT_FOUND."""
    pk = _parse_id(task_id)
    task = tasks.filter(pk=pk).first() if pk else None
    if task is None:
        raise refuse(Reason.TASK_NOT_FOUND)
    return task


def text_of(
    task: Task, *, history_length: int | None = None, include_artifacts: bool = True
) -> str:
    """The task as it is sent; what is left out is not even decrypted."""
    document = Document(
        head=task.head,
        history=documents.EMPTY if history_length == 0 else task.history,
        artifacts=task.artifacts if include_artifacts else None,
    )
    return documents.task_text(document, history_length=history_length)


def _parse_id(text: str) -> UUID | None:
    """Only the spelling that was given out; UUID() would read a dozen others."""
    try:
        found = UUID(text)
    except ValueError:
        return None
    return found if str(found) == text else None
