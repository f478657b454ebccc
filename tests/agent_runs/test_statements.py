from __future__ import annotations

import contextlib
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from agent_runs.models import (
    AgentRun,
    LLMConfiguration,
    Provider,
    RunState,
    WorkerHeartbeat,
)
from agent_runs.statements import Insert, Select, Update, value
from agent_runs.store import look_after_connection
from tests import factories

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from pytest_django.fixtures import SettingsWrapper

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


def test_its_queryset_is_built_once() -> None:
    run, built = factories.make_run(), []

    def make() -> QuerySet[AgentRun]:
        built.append(True)
        return AgentRun.objects.filter(id=value(AgentRun, "id"))

    find = Select(make)
    for _ in range(3):
        assert find.first(id=run.id) == run

    assert len(built) == 1


@pytest.mark.parametrize("text", ["50% off", "%s", "100%%", "it's", "\\", "%(id)s"])
def test_a_constant_may_hold_anything(text: str) -> None:
    run = factories.make_run(handler=text)
    find = Select(
        lambda: AgentRun.objects.filter(id=value(AgentRun, "id"), handler=text)
    )

    assert find.first(id=run.id) == run


def test_brings_what_is_prefetched() -> None:
    configuration = factories.make_configuration()
    configuration.allowed_groups.add(factories.make_group())
    find = Select(
        lambda: LLMConfiguration.objects.filter(
            id=value(LLMConfiguration, "id")
        ).prefetch_related("allowed_groups")
    )

    found = find.first(id=configuration.id)

    assert found is not None
    with CaptureQueriesContext(connection) as asked:
        assert len(found.allowed_groups.all()) == 1
    assert len(asked) == 0


def test_takes_no_value_that_it_does_not_name() -> None:
    """A column that is not set would otherwise be lost in silence."""
    run = factories.make_run()
    change = Update(
        lambda: AgentRun.objects.filter(id=value(AgentRun, "id")),
        lambda: {"nudged_at": value(AgentRun, "nudged_at")},
    )

    with pytest.raises(TypeError, match="has no segments"):
        change.execute(id=run.id, nudged_at=NOON, segments=1)

    assert change.names == {"id", "nudged_at"}
    assert _run(run.id).nudged_at is None


def test_takes_no_default_that_is_made_for_each_row() -> None:
    insert = Insert(AgentRun, "id", "created_at", "state_changed_at", "request")

    with pytest.raises(TypeError, match="tools has a default of its own"):
        insert.execute(id=uuid.uuid4())


def test_an_error_that_nobody_minds_does_not_let_the_rest_be_stored() -> None:
    """As the ORM does it: half a transaction is none."""
    insert = Insert(WorkerHeartbeat, "worker_id", "last_seen_at", "started_at")

    with transaction.atomic():
        with contextlib.suppress(IntegrityError):
            insert.execute(worker_id="w", last_seen_at=None, started_at=NOON)
        needs_rollback = connection.needs_rollback
        transaction.set_rollback(True)

    assert needs_rollback


def test_does_not_take_a_plain_text_for_an_encrypted_column() -> None:
    run = factories.make_run()
    change = Update(
        lambda: AgentRun.objects.filter(id=value(AgentRun, "id")),
        lambda: {"pending": value(AgentRun, "pending")},
    )

    with pytest.raises(Exception, match="sealed values only"):
        change.execute(id=run.id, pending="open")


# --- PostgreSQL -----------------------------------------------------------------------

_by_id = Select(
    lambda: AgentRun.objects.filter(
        id=value(AgentRun, "id"), state=RunState.QUEUED
    ).values_list("id", "handler")
)


def _prepared() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements")
        return [row[0] for row in cursor.fetchall()]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("postgresql")
def test_is_prepared_with_its_constants_and_nothing_else_is() -> None:
    """An index of some states only serves a plan that knows the state."""
    connection.close()
    run = factories.make_run()
    for _ in range(10):
        _by_id.first(id=run.id)
        AgentRun.objects.filter(id=run.id).first()

    (text,) = _prepared()
    assert f"= '{RunState.QUEUED}'" in text
    assert "$2" not in text


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("postgresql")
def test_is_not_prepared_where_that_is_switched_off(settings: SettingsWrapper) -> None:
    """For a pooler that gives every transaction another session."""
    settings.A2A_DATABASE_PREPARED_STATEMENTS = False
    connection.close()
    run = factories.make_run()
    for _ in range(10):
        _by_id.first(id=run.id)

    assert _prepared() == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("postgresql")
@pytest.mark.parametrize("is_in_transaction", [False, True])
def test_survives_a_table_that_was_changed(is_in_transaction: bool) -> None:
    """As an upgrade does it while the web process goes on."""
    run = factories.make_run()
    for _ in range(10):
        _by_id.first(id=run.id)
    _set_handler_length(65)
    try:
        if is_in_transaction:
            with pytest.raises(OperationalError), transaction.atomic():
                _by_id.first(id=run.id)
            look_after_connection()

        assert _by_id.first(id=run.id) == (run.id, run.handler)
    finally:
        _set_handler_length(64)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("postgresql")
@pytest.mark.parametrize("is_select", [True, False])
def test_survives_that_what_was_prepared_is_gone(is_select: bool) -> None:
    """As a pooler does it, or somebody's code that shares the connection."""
    run = factories.make_run()
    change = Update(
        lambda: AgentRun.objects.filter(id=value(AgentRun, "id")),
        lambda: {"segments": F("segments") + 1},
    )
    for _ in range(10):
        change.execute(id=run.id)
        _by_id.first(id=run.id)
    with connection.cursor() as cursor:
        cursor.execute("DISCARD ALL")

    if not is_select:
        with pytest.raises(OperationalError):
            change.execute(id=run.id)
        look_after_connection()

    assert _by_id.first(id=run.id) == (run.id, run.handler)
    assert change.execute(id=run.id) == 1


def _set_handler_length(length: int) -> None:
    with psycopg.connect(connection.connection.info.dsn, autocommit=True) as other:
        other.execute(
            f"ALTER TABLE agent_runs_agentrun ALTER handler TYPE varchar({length})"
        )


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("postgresql")
def test_threads_share_a_statement_and_no_values() -> None:
    runs = [factories.make_run() for _ in range(4)]
    usual = sys.getswitchinterval()

    def ask(run: AgentRun) -> set[Any]:
        try:
            return {_by_id.first(id=run.id) for _ in range(300)}
        finally:
            connection.close()

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(len(runs)) as threads:
            found = list(threads.map(ask, runs))
    finally:
        sys.setswitchinterval(usual)

    assert found == [{(run.id, run.handler)} for run in runs]
