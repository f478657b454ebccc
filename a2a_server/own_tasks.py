"""A client's own tasks: every read of one goes through here and is one query.

The query that reads also authorizes. A foreign task, a purged one, one that never was
and an id that cannot be one are the same refusal, byte for byte (S64).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

from a2a_server import documents
from a2a_server.documents import Document
from a2a_server.errors import Reason, refuse
from a2a_server.models import Task
from agent_runs.encryption import field_of
from agent_runs.statements import Select, value

if TYPE_CHECKING:
    from django.db.models import QuerySet

COLUMNS = (
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


def of_client() -> QuerySet[Task]:
    """For statements: the tasks of the client that is given as `client_id`.

    With their documents, which are decrypted only as far as they are read.
    """
    tasks = Task.objects.filter(client_id=value(Task, "client_id"))
    return tasks.only(*COLUMNS)


_READ: Final = Select(
    lambda: Task.objects.filter(
        client_id=value(Task, "client_id"), pk=value(Task, "id")
    ).values_list("head", "history", "artifacts")
)
_FIND: Final = Select(lambda: of_client().filter(pk=value(Task, "id")))
_FIND_WITH_SKILL: Final = Select(
    lambda: (
        of_client()
        .filter(pk=value(Task, "id"))
        .select_related("profile")
        .only("client_id", "run_id", "context_id", "state", "profile__skill_id")
    )
)


def read(client_id: int, task_id: str, *, history_length: int | None = None) -> str:
    """The client's own task of that id as it is sent, or TASK_NOT_FOUND."""
    pk = _parse_id(task_id)
    row = _READ.first(client_id=client_id, id=pk) if pk else None
    if pk is None or row is None:
        raise refuse(Reason.TASK_NOT_FOUND)
    head, history, artifacts = row
    return open_text(
        pk, head, history=history, artifacts=artifacts, history_length=history_length
    )


def open_text(
    task_id: UUID,
    head: str,
    *,
    history: str | None,
    artifacts: str | None,
    history_length: int | None,
) -> str:
    """A task as it is sent, from sealed texts; what is left out is not even decrypted."""

    def opened(name: str, sealed: str | None) -> str | None:
        return sealed and field_of(Task, name).unseal(task_id, sealed)

    document = Document(
        head=field_of(Task, "head").unseal(task_id, head),
        history=opened("history", None if history_length == 0 else history)
        or documents.EMPTY,
        artifacts=opened("artifacts", artifacts),
    )
    return documents.task_text(document, history_length=history_length)


def find(client_id: int, task_id: str) -> Task:
    """The client's own task of that id, or TASK_NOT_FOUND."""
    return _find(_FIND, client_id, task_id)


def find_with_skill(client_id: int, task_id: str) -> Task:
    """The same with the skill id of its profile, and without its document."""
    return _find(_FIND_WITH_SKILL, client_id, task_id)


def _find(statement: Select[Task], client_id: int, task_id: str) -> Task:
    pk = _parse_id(task_id)
    task = statement.first(client_id=client_id, id=pk) if pk else None
    if task is None:
        raise refuse(Reason.TASK_NOT_FOUND)
    return task


def text_of(task: Task, *, history_length: int | None = None) -> str:
    """A task at hand as it is sent; what is left out is not even decrypted."""
    document = Document(
        head=task.head,
        history=documents.EMPTY if history_length == 0 else task.history,
        artifacts=task.artifacts,
    )
    return documents.task_text(document, history_length=history_length)


def _parse_id(text: str) -> UUID | None:
    """Only the spelling that was given out; UUID() would read a dozen others."""
    try:
        found = UUID(text)
    except ValueError:
        return None
    return found if str(found) == text else None
