from __future__ import annotations

import select
import sqlite3

import psycopg
import pytest
from django.apps import apps
from django.db import (
    DataError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    connection,
)
from django.db.models.signals import pre_migrate

from agent_runs.store import STORE_AWAY, is_conflict, look_after_connection


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_a_connection_that_fails_means_the_store_is_away(
    error: type[Exception],
) -> None:
    assert issubclass(error, STORE_AWAY)


@pytest.mark.parametrize("error", [IntegrityError, DataError])
def test_a_query_that_is_refused_is_a_mistake(error: type[Exception]) -> None:
    assert not issubclass(error, STORE_AWAY)


@pytest.mark.parametrize(
    ("cause", "is_passing"),
    [
        (psycopg.errors.DeadlockDetected(), True),
        (psycopg.errors.SerializationFailure(), True),
        (psycopg.errors.AdminShutdown(), False),
        (psycopg.OperationalError(), False),
        (sqlite3.OperationalError("database is locked"), False),
        (None, False),
    ],
)
def test_tells_a_conflict_from_a_store_that_is_away(
    cause: Exception | None, is_passing: bool
) -> None:
    error = OperationalError()
    error.__cause__ = cause

    assert is_conflict(error) is is_passing


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("postgresql")
def test_a_connection_that_lives_is_not_asked_whether_it_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _connect_with_health_checks(monkeypatch)
    monkeypatch.setattr(connection, "is_usable", lambda: pytest.fail("asked"))

    look_after_connection()

    assert _statement_timeout() == "30s"


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("postgresql")
def test_a_connection_that_the_server_ended_is_made_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As after a restart: the next piece of work does not even notice."""
    _connect_with_health_checks(monkeypatch)
    ended = connection.connection
    with psycopg.connect(ended.info.dsn, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [ended.info.backend_pid])
        select.select([ended.pgconn.socket], [], [], 5)

    look_after_connection()

    assert _statement_timeout() == "30s"
    assert connection.connection is not ended


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("postgresql")
def test_a_migration_takes_the_time_it_needs() -> None:
    """The bound of other statements would stop it half-way through a large table."""
    connection.close()
    before = _statement_timeout()

    pre_migrate.send(apps.get_app_config("agent_runs"), using="default")

    assert before == "30s"
    assert _statement_timeout() == "0"
    connection.close()


def _connect_with_health_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.settings_dict, "CONN_HEALTH_CHECKS", True)
    connection.close()
    connection.ensure_connection()


def _statement_timeout() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        return str(cursor.fetchone()[0])
