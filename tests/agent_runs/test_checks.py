from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from cryptography.fernet import Fernet
from django.core import checks as django_checks
from django.db import connection
from django.db.backends.dummy.base import DatabaseWrapper

from agent_runs import checks

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

KEY = Fernet.generate_key().decode()


def ids(messages: list[django_checks.CheckMessage]) -> list[str | None]:
    assert all(message.hint for message in messages)
    return [message.id for message in messages]


@pytest.mark.parametrize(
    ("keys", "debug", "expected"),
    [
        ([KEY], False, []),
        ([KEY, Fernet.generate_key().decode()], False, []),
        ([], False, ["agent_runs.E001"]),
        ([], True, []),  # one derived from SECRET_KEY stands in
        (["short"], False, ["agent_runs.E002"]),
        (["short"], True, ["agent_runs.E002"]),
        ([KEY, "ä", KEY[:-4]], False, ["agent_runs.E002", "agent_runs.E002"]),
    ],
)
def test_checks_the_encryption_keys(
    settings: Settings, keys: list[str], debug: bool, expected: list[str]
) -> None:
    """R17: no key with DEBUG off is a start-up error."""
    settings.A2A_ENCRYPTION_KEYS = keys
    settings.DEBUG = debug

    messages = checks.check_encryption_keys(None)

    assert ids(messages) == expected
    assert not any(key in message.msg for message in messages for key in keys)


@pytest.mark.parametrize(
    ("key", "expected"), [("", ["agent_runs.E003"]), ("a key", [])]
)
def test_checks_the_secret_key(
    settings: Settings, key: str, expected: list[str]
) -> None:
    settings.SECRET_KEY = key

    assert ids(checks.check_secret_key(None)) == expected


@pytest.mark.parametrize(
    ("name", "check_id"),
    [
        ("AGENT_RUNS_RETENTION_DAYS", "agent_runs.E004"),
        ("AGENT_RUNS_MAX_WAIT_DAYS", "agent_runs.E005"),
    ],
)
@pytest.mark.parametrize(("days", "is_wrong"), [(1, False), (0, True), (-1, True)])
def test_checks_the_days(
    settings: Settings, name: str, check_id: str, days: int, is_wrong: bool
) -> None:
    """R18: at least 1."""
    setattr(settings, name, days)

    assert ids(checks.check_days(None)) == ([check_id] if is_wrong else [])


def test_checks_the_lists_of_what_tools_may_touch(settings: Settings) -> None:
    """T5."""
    assert checks.check_allow_lists(None) == []

    settings.AGENT_RUNS_READABLE_MODELS = {"newsroom.article": ("nothing",)}
    settings.AGENT_RUNS_WRITABLE_MODELS = {
        "auth.user": ("username",),
        "newsroom.article": ("id",),
    }

    assert ids(checks.check_allow_lists(None)) == [
        "agent_runs.E006",
        "agent_runs.E007",
        "agent_runs.E008",
    ]


FINE = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": "PRAGMA journal_mode = wal;",
}


@pytest.mark.parametrize(
    ("change", "is_wrong"),
    [
        ({}, False),
        ({"transaction_mode": "EXCLUSIVE"}, False),
        ({"transaction_mode": "DEFERRED"}, True),
        ({"transaction_mode": None}, True),
        ({"timeout": 5}, True),
        ({"init_command": ""}, True),
    ],
)
def test_checks_the_options_of_sqlite(change: dict[str, Any], is_wrong: bool) -> None:
    """S48."""
    messages = checks._check_sqlite(FINE | change)

    assert ids(messages) == (["agent_runs.E010"] if is_wrong else [])


def test_refuses_a_database_that_nobody_tried() -> None:
    """Only PostgreSQL and SQLite tell the time that leases need (R9)."""
    other = DatabaseWrapper({"OPTIONS": {}})
    other.vendor = "oracle"

    assert ids(checks.problems_of(other)) == ["agent_runs.E011"]


def test_takes_the_database_of_these_tests() -> None:
    assert connection.vendor in {"sqlite", "postgresql"}
    assert checks.check_database(None) == []


def test_all_checks_run_with_manage_py_check() -> None:
    registered: list[object] = list(django_checks.registry.registry.get_checks())

    for check in (
        checks.check_encryption_keys,
        checks.check_secret_key,
        checks.check_days,
        checks.check_allow_lists,
        checks.check_database,
    ):
        assert check in registered
