from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection, connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from a2a_project.health import Health
from a2a_server import conf, executor
from tests.asgi_peer import ask_once, elsewhere, make_scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django.fixtures import SettingsWrapper

    from tests.asgi_peer import Answer

pytestmark = pytest.mark.django_db(transaction=True)

# Nothing listens there; a connection is refused at once.
NO_REDIS = "redis://127.0.0.1:9/0"


@pytest.fixture(autouse=True)
def _threads_end() -> Iterator[None]:
    yield
    executor.close()


def get(path: str, **scope: Any) -> Answer:
    return ask_once(Health(elsewhere), make_scope(path, **{"method": "GET"} | scope))


def test_says_that_the_process_is_alive() -> None:
    """W7: whatever the host, and without a redirect to https."""
    answer = get("/healthz", host="10.0.0.1:8000", scheme="http")

    assert answer.status == 200
    assert answer.json == {"status": "ok"}


def test_is_ready_with_a_migrated_database(settings: SettingsWrapper) -> None:
    settings.A2A_REDIS_URL = ""

    answer = get("/readyz")

    assert answer.status == 200
    assert answer.json == {"status": "ok", "database": "ok", "broker": "none"}


def test_a_broker_that_is_away_degrades(settings: SettingsWrapper) -> None:
    """W7: requests go on without it."""
    settings.A2A_REDIS_URL = NO_REDIS

    answer = get("/readyz")

    assert answer.status == 200
    assert answer.json == {"status": "degraded", "database": "ok", "broker": "away"}


def test_names_a_broker_that_answers(settings: SettingsWrapper, redis_url: str) -> None:
    settings.A2A_REDIS_URL = redis_url

    assert get("/readyz").json["broker"] == "ok"


def test_is_not_ready_without_its_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connections.settings["default"], "NAME", "/nowhere/lost")

    answer = get("/readyz")

    assert answer.status == 503
    assert answer.json["database"] == "away"
    assert "nowhere" not in answer.body.decode()
    assert get("/healthz").status == 200


def test_is_not_ready_while_its_database_hangs() -> None:
    """W7: whoever asks hears it before giving up."""
    free = threading.Event()
    for _ in range(conf.threads()):
        executor.start(free.wait)

    answer = ask_once(
        Health(elsewhere, seconds=0.05), make_scope("/readyz", method="GET")
    )
    free.set()

    assert answer.status == 503
    assert answer.json == {"status": "unavailable", "database": "away"}


def test_is_not_ready_before_the_migrations() -> None:
    """W7: and it is once they have been applied."""
    leaves = MigrationLoader(connection).graph.leaf_nodes("a2a_server")
    recorder = MigrationRecorder(connection)
    recorder.record_unapplied(*leaves[0])
    health = Health(elsewhere)
    scope = make_scope("/readyz", method="GET")

    before = ask_once(health, scope)
    recorder.record_applied(*leaves[0])
    after = ask_once(health, scope)

    assert (before.status, before.json["database"]) == (503, "not migrated")
    assert (after.status, after.json["database"]) == (200, "ok")


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_takes_head_and_refuses_the_rest(path: str) -> None:
    head = get(path, method="HEAD")
    post = get(path, method="POST")

    assert head.status == 200
    assert (post.status, post.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", ["/healthz/", "/", "/readyz/x"])
def test_leaves_other_paths_to_the_application(path: str) -> None:
    assert get(path).body == b"elsewhere"
