from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from agent_runs.models import AgentRun, LLMConfiguration, Provider, WorkerHeartbeat
from agent_runs.statements import Insert, Select, Update, value
from tests import factories

if TYPE_CHECKING:
    import uuid

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def _run(run_id: uuid.UUID) -> AgentRun:
    return AgentRun.objects.get(id=run_id)


def test_gives_what_its_queryset_would_give() -> None:
    run = factories.make_run()
    find = Select(
        lambda: AgentRun.objects.filter(
            id=value(AgentRun, "id"), state=value(AgentRun, "state")
        ).values_list("id", "tools", "created_at", "has_effects")
    )

    assert find.all(id=run.id, state="queued") == [
        (run.id, run.tools, run.created_at, False)
    ]
    assert find.first(id=run.id, state="running") is None


def test_asks_with_the_values_of_each_call() -> None:
    first, second = factories.make_run(), factories.make_run()
    find = Select(
        lambda: AgentRun.objects.filter(id=value(AgentRun, "id")).values_list(
            "id", flat=True
        )
    )

    assert [find.first(id=run.id) for run in (first, second)] == [first.id, second.id]


def test_gives_instances_with_what_was_selected_beside_them() -> None:
    configuration = factories.make_configuration()
    find = Select(
        lambda: LLMConfiguration.objects.filter(
            id=value(LLMConfiguration, "id")
        ).select_related("provider")
    )

    found = find.first(id=configuration.id)

    assert found == configuration
    with CaptureQueriesContext(connection) as asked:
        assert isinstance(found.provider, Provider)
    assert len(asked) == 0


def test_opens_an_encrypted_text_of_an_instance() -> None:
    run = factories.make_run()
    find = Select(lambda: AgentRun.objects.filter(id=value(AgentRun, "id")))

    found = find.first(id=run.id)

    assert found is not None
    assert found.request == run.request


def test_changes_what_its_queryset_finds_and_counts_it() -> None:
    run = factories.make_run()
    change = Update(
        lambda: AgentRun.objects.filter(
            id=value(AgentRun, "id"), state=value(AgentRun, "state", "expected")
        ),
        lambda: {
            "segments": F("segments") + 1,
            "nudged_at": value(AgentRun, "nudged_at"),
            "tools": value(AgentRun, "tools"),
        },
    )
    values = {"id": run.id, "nudged_at": NOON, "tools": ["a"]}

    assert change.execute(expected="running", **values) == 0
    assert change.execute(expected="queued", **values) == 1
    stored = _run(run.id)
    assert (stored.segments, stored.nudged_at, stored.tools) == (1, NOON, ["a"])


def test_inserts_a_row_with_the_defaults_of_its_fields() -> None:
    insert = Insert(
        WorkerHeartbeat, "worker_id", "last_seen_at", "started_at", transport="celery"
    )
    values = {"worker_id": "w", "started_at": NOON}
    with pytest.raises(IntegrityError), transaction.atomic():
        insert.execute(last_seen_at=None, **values)

    insert.execute(last_seen_at=NOON, **values)

    (row,) = WorkerHeartbeat.objects.all()
    assert (row.last_seen_at, row.transport, row.concurrency) == (NOON, "celery", 1)


def test_does_not_take_a_plain_text_for_an_encrypted_column() -> None:
    run = factories.make_run()
    change = Update(
        lambda: AgentRun.objects.filter(id=value(AgentRun, "id")),
        lambda: {"pending": value(AgentRun, "pending")},
    )

    with pytest.raises(Exception, match="sealed values only"):
        change.execute(id=run.id, pending="open")
