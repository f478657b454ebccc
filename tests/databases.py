"""Databases of their own for installations under test: copies of one migrated template."""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
SQLITE = "sqlite"
POSTGRESQL = "postgresql"

# What every process of the product under test is told.
PRODUCT_ENVIRONMENT = {
    "A2A_ENCRYPTION_KEYS": "dGVzdHMtb25seS1rZXktb2YtMzItYnl0ZXMtZ29lcy4=",
    "DJANGO_SETTINGS_MODULE": "a2a_project.settings",
    "PYTHONUNBUFFERED": "1",
    "SECRET_KEY": "tests-only-secret-key-0123456789-abcdefghijklmnopqrstuvwxyz",
}


@contextlib.contextmanager
def database(directory: Path, kind: str, name: str) -> Iterator[str]:
    """The URL of a migrated database that goes when the block ends."""
    if kind == SQLITE:
        file = directory / "a2a.sqlite3"
        shutil.copyfile(_sqlite_template(), file)
        yield f"sqlite:///{file}"
        return
    server = _server_url()
    _execute(server, "CREATE DATABASE {} TEMPLATE {}", name, _postgresql_template())
    try:
        yield _with_database(server, name)
    finally:
        _execute(server, "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)


@lru_cache
def _sqlite_template() -> Path:
    """One migrated database per test run, copied for each installation."""
    directory = Path(tempfile.mkdtemp(prefix="a2a-template-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    file = directory / "a2a.sqlite3"
    _migrate(f"sqlite:///{file}")
    # What the log still holds goes into the file that is copied.
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return file


@lru_cache
def _postgresql_template() -> str:
    """As above; PostgreSQL copies files, which is quicker than migrating."""
    name = f"a2a_template_{secrets.token_hex(6)}"
    server = _server_url()
    _execute(server, "CREATE DATABASE {}", name)
    atexit.register(_execute, server, "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)
    _migrate(_with_database(server, name))
    return name


def _migrate(url: str) -> None:
    environment = PRODUCT_ENVIRONMENT | {
        "DATABASE_URL": url,
        "PATH": os.environ["PATH"],
    }
    argv = [sys.executable, "manage.py", "migrate", "--verbosity=0"]
    subprocess.run(argv, cwd=ROOT, env=environment, check=True, timeout=120)


def _server_url() -> str:
    url = os.environ.get("TEST_DATABASE_URL", "")
    if not url.startswith("postgres"):
        raise AssertionError("TEST_DATABASE_URL names no PostgreSQL.")
    return _with_database(url, "postgres")


def _with_database(url: str, name: str) -> str:
    return urlsplit(url)._replace(path=f"/{name}").geturl()


def _execute(url: str, statement: str, *names: str) -> None:
    parts = [sql.Identifier(name) for name in names]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL(statement).format(*parts))
