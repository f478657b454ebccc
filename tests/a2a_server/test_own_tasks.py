from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from a2a_server import own_tasks
from a2a_server.models import Task
from agent_runs.encryption import Sealed, field_of
from tests.a2a_server.calling import make_task

if TYPE_CHECKING:
    from a2a_server.models import Client, Profile

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("history_length", "include_artifacts", "broken"),
    [(0, True, "history"), (None, False, "artifacts")],
)
def test_what_is_left_out_is_not_even_decrypted(
    partner: Client,
    profile: Profile,
    history_length: int | None,
    include_artifacts: bool,
    broken: str,
) -> None:
    """S63, S65: seen by a text that would not open."""
    task = make_task(client=partner, profile=profile)
    sealed = field_of(Task, broken).seal("another cell", "[]")
    Task.objects.filter(pk=task.pk).update(**{broken: Sealed(sealed)})

    text = own_tasks.text_of(
        own_tasks.tasks_of(partner.pk).get(),
        history_length=history_length,
        include_artifacts=include_artifacts,
    )

    assert json.loads(text)["id"] == str(task.pk)
    assert broken not in json.loads(text)
