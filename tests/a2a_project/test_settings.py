from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from django.core.exceptions import ImproperlyConfigured

from a2a_project import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

SETTINGS = Path(__file__).resolve().parents[2] / "a2a_project" / "settings.py"


class Load(Protocol):
    def __call__(self, **environment: str) -> dict[str, Any]: ...


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Load]:
    """Reads the settings anew, in an environment that holds nothing else."""

    def read(**environment: str) -> dict[str, Any]:
        for name in list(os.environ):
            monkeypatch.delenv(name)
        for name, value in ({"DATA_DIR": str(tmp_path / "data")} | environment).items():
            monkeypatch.setenv(name, value)
        return runpy.run_path(str(SETTINGS))

    yield read
    monkeypatch.undo()


def test_a_bare_checkout_has_a_database_of_its_own(load: Load, tmp_path: Path) -> None:
    """O1."""
    database = load()["DATABASES"]["default"]

    assert database["NAME"] == str(tmp_path / "data" / "a2a.sqlite3")
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700


def test_nothing_is_served_and_nothing_is_guessed_by_default(load: Load) -> None:
    """S1, C1."""
    read = load()

    assert read["A2A_SERVER_ENABLED"] is False
    assert read["A2A_CLIENT_ENABLED"] is False
    assert read["DEBUG"] is False
    assert read["SECRET_KEY"] == ""
    assert read["A2A_ENCRYPTION_KEYS"] == []


def test_debugging_needs_no_key(load: Load) -> None:
    assert load(DEBUG="on")["SECRET_KEY"]


def test_sqlite_makes_concurrent_writers_wait(load: Load) -> None:
    """S48."""
    options = load()["DATABASES"]["default"]["OPTIONS"]

    assert options["transaction_mode"] == "IMMEDIATE"
    assert options["timeout"] == 20
    assert "journal_mode=WAL" in options["init_command"]


def test_postgresql_connections_stay_open_and_are_checked(load: Load) -> None:
    database = load(DATABASE_URL="postgres://user:word@host:5433/name")["DATABASES"]

    assert database["default"]["CONN_MAX_AGE"] is None
    assert database["default"]["CONN_HEALTH_CHECKS"] is True
    assert database["default"]["OPTIONS"]["connect_timeout"] == 5


def test_postgresql_bounds_every_wait(load: Load) -> None:
    """S92: what hangs is given up."""
    url = "postgres://host/name"
    bounded = load(DATABASE_URL=url)["DATABASES"]["default"]["OPTIONS"]
    named = {"A2A_DATABASE_STATEMENT_TIMEOUT_SECONDS": "7"}
    other = load(DATABASE_URL=url, **named)["DATABASES"]["default"]["OPTIONS"]

    assert bounded["tcp_user_timeout"] == 10_000
    assert "-c lock_timeout=10s" in bounded["options"]
    assert "-c statement_timeout=30s" in bounded["options"]
    assert "-c statement_timeout=7s" in other["options"]


def test_a_database_url_keeps_options_of_its_own(load: Load) -> None:
    read = load(DATABASE_URL="postgres://host/name?connect_timeout=9")

    assert read["DATABASES"]["default"]["OPTIONS"]["connect_timeout"] == 9


def test_refuses_a_database_url_that_it_cannot_read(load: Load) -> None:
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL cannot be read"):
        load(DATABASE_URL="nonsense://host/name")


def test_says_that_its_folder_cannot_be_made(load: Load, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ImproperlyConfigured, match="DATA_DIR cannot be made"):
        load(DATA_DIR=str(tmp_path / "file" / "data"))


@pytest.mark.parametrize(
    ("url", "prefix"),
    [
        ("postgres://host/gateway", "gateway"),
        ("postgres://host/odd.name", "odd_name"),
        ("sqlite:////srv/a2a.sqlite3", "a2a"),
    ],
)
def test_installations_that_share_a_redis_differ_by_their_database(
    load: Load, url: str, prefix: str
) -> None:
    """W5."""
    read = load(DATABASE_URL=url, A2A_REDIS_URL="redis://host/0")

    options = read["CELERY_BROKER_TRANSPORT_OPTIONS"]
    assert options["global_keyprefix"] == f"{prefix}:"


def test_says_its_own_version_on_the_card(load: Load) -> None:
    """S6."""
    assert load()["A2A_SERVER_VERSION"] == __version__


def test_believes_a_proxy_only_when_told_to(load: Load) -> None:
    """S24."""
    assert "SECURE_PROXY_SSL_HEADER" not in load()
    assert "SECURE_PROXY_SSL_HEADER" in load(TRUST_X_FORWARDED_PROTO="on")


def test_takes_apps_of_ones_own(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wordcount").mkdir()
    monkeypatch.syspath_prepend(tmp_path)

    assert "wordcount" in load(EXTRA_APPS="wordcount")["INSTALLED_APPS"]
