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


def test_a_history_that_is_left_out_is_not_even_decrypted(
    partner: Client, profile: Profile
) -> None:
    """S63: seen by a text that would not open."""
    task = make_task(client=partner, profile=profile)
    sealed = field_of(Task, "history").seal("another cell", "[]")
    Task.objects.filter(pk=task.pk).update(history=Sealed(sealed))

    text = own_tasks.read(partner.pk, str(task.pk), history_length=0)

    assert json.loads(text)["id"] == str(task.pk)
    assert "history" not in json.loads(text)
