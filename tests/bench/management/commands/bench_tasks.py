"""`manage.py bench_tasks COUNT`: so many completed tasks of the stand's client."""

from __future__ import annotations

import itertools
import uuid
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand
from django.db import connection, transaction

from a2a_protocol import types
from a2a_server import counters, documents
from a2a_server.models import Client, Profile, Task, TaskState
from agent_runs import clock, contents
from agent_runs.models import AgentRun, EndReason, RunState

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from datetime import datetime

_BATCH = 1000


class Command(BaseCommand):
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("count", type=int)

    def handle(self, *args: Any, **options: Any) -> None:
        client, profile = Client.objects.get(), Profile.objects.get()
        now = clock.database_now()
        tasks = (_task(client, profile, now) for _ in range(options["count"]))
        while batch := list(itertools.islice(tasks, _BATCH)):
            with transaction.atomic():
                AgentRun.objects.bulk_create([task.run for task in batch])
                Task.objects.bulk_create(batch)
                counters.shift({(client.pk, TaskState.COMPLETED): len(batch)})
        _gather_statistics()


def _task(client: Client, profile: Profile, now: datetime) -> Task:
    """As a message that was echoed leaves it, but for its events."""
    name = documents.TaskName(task_id=uuid.uuid4(), context_id=str(uuid.uuid4()))
    status = documents.status(TaskState.COMPLETED, at=now)
    output = contents.text_output("hello")
    return Task(
        id=name.task_id,
        client=client,
        profile=profile,
        run=_run(client, profile, now),
        context_id=name.context_id,
        state=TaskState.COMPLETED,
        status_at=now,
        created_at=now,
        head=documents.head(name, status),
        history=documents.with_message(documents.EMPTY, _message(name)),
        artifacts=documents.with_artifacts(
            None, [documents.artifact(output, number=1)]
        ),
    )


def _run(client: Client, profile: Profile, now: datetime) -> AgentRun:
    parts = (contents.TextPart(text="echo hello"),)
    return AgentRun(
        owner=client.technical_user,
        handler=profile.handler,
        state=RunState.COMPLETED,
        end_reason=EndReason.COMPLETED,
        request=contents.dump_input(contents.RunInput(parts=parts)),
        created_at=now,
        state_changed_at=now,
        ended_at=now,
    )


def _message(name: documents.TaskName) -> types.Message:
    message = types.Message(
        message_id=str(uuid.uuid4()),
        role=types.Role.ROLE_USER,
        parts=(types.Part(text="echo hello"),),
    )
    return documents.client_message(message, name=name)


def _gather_statistics() -> None:
    # What the database does by itself, some time after so many rows were inserted.
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
