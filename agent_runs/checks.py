"""System checks of the settings that this package reads; each problem has a hint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cryptography.fernet import Fernet
from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured
from django.db import connections

from agent_runs import allow_lists, outbound_checks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.apps import AppConfig
    from django.db.backends.base.base import BaseDatabaseWrapper

_KEY_HINT = (
    "Make a key with: python -c 'from cryptography.fernet import Fernet; "
    "print(Fernet.generate_key().decode())'"
)


def check_encryption_keys(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[checks.CheckMessage]:
    keys = settings.A2A_ENCRYPTION_KEYS
    if not keys and not settings.DEBUG:
        return [
            checks.Error(
                "A2A_ENCRYPTION_KEYS is empty.", hint=_KEY_HINT, id="agent_runs.E001"
            )
        ]
    return [
        checks.Error(
            f"Key number {number} of A2A_ENCRYPTION_KEYS is no Fernet key.",
            hint=f"A key has 32 bytes in URL-safe base64. {_KEY_HINT}",
            id="agent_runs.E002",
        )
        for number, key in enumerate(keys, start=1)
        if not _is_fernet_key(key)
    ]


def _is_fernet_key(key: object) -> bool:
    try:
        Fernet(str(key))
    except ValueError:
        return False
    return True


def check_secret_key(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[checks.CheckMessage]:
    """Django itself only notices when something signs."""
    try:
        is_missing = not settings.SECRET_KEY
    except ImproperlyConfigured:
        is_missing = True
    if not is_missing:
        return []
    return [
        checks.Error(
            "SECRET_KEY is empty.",
            hint="Set the environment variable SECRET_KEY to at least 50 random "
            "characters, or DEBUG=1 for a trial.",
            id="agent_runs.E003",
        )
    ]


def check_days(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[checks.CheckMessage]:
    return [
        checks.Error(
            f"{name} must be at least 1.", hint="It is a number of days.", id=check_id
        )
        for name, check_id in (
            ("AGENT_RUNS_RETENTION_DAYS", "agent_runs.E004"),
            ("AGENT_RUNS_MAX_WAIT_DAYS", "agent_runs.E005"),
        )
        if getattr(settings, name) < 1
    ]


def check_allow_lists(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[checks.CheckMessage]:
    """What is wrongly listed is refused at use too."""
    return [
        checks.Error(problem.sentence, hint=problem.hint, id=problem.check_id)
        for setting in (allow_lists.READABLE, allow_lists.WRITABLE)
        for problem in allow_lists.problems(setting)
    ]


def check_database(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[checks.CheckMessage]:
    return problems_of(connections["default"])


def problems_of(connection: BaseDatabaseWrapper) -> list[checks.CheckMessage]:
    if connection.vendor == "sqlite":
        return _check_sqlite(connection.settings_dict.get("OPTIONS", {}))
    if connection.vendor == "postgresql":
        return []
    return [
        checks.Error(
            f"The database «{connection.vendor}» is not supported.",
            hint="Use a postgresql:// or sqlite:// DATABASE_URL.",
            id="agent_runs.E011",
        )
    ]


def _check_sqlite(options: dict[str, Any]) -> list[checks.CheckMessage]:
    """Seen: without these options most concurrent writers meet «database is locked»."""
    pragmas = str(options.get("init_command", "")).replace(" ", "").upper()
    fine = (
        options.get("transaction_mode") in {"IMMEDIATE", "EXCLUSIVE"}
        and "JOURNAL_MODE=WAL" in pragmas
        and options.get("timeout", 0) >= 20
    )
    if fine:
        return []
    return [
        checks.Error(
            "SQLite is opened with options under which concurrent writers fail.",
            hint="OPTIONS needs transaction_mode IMMEDIATE, timeout 20 or more, and "
            "PRAGMA journal_mode=WAL in init_command, as a2a_project.settings has them.",
            id="agent_runs.E010",
        )
    ]


def register() -> None:
    for check in (
        check_encryption_keys,
        check_secret_key,
        check_days,
        check_allow_lists,
        check_database,
        *outbound_checks.ALL,
    ):
        checks.register(check)
