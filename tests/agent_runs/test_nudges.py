from __future__ import annotations

import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from django.db import transaction
from kombu import pools

from a2a_project.celery import app
from agent_runs import nudges

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django.fixtures import Settings

DEAD_BROKER = "redis://127.0.0.1:1/0"


@pytest.mark.parametrize(
    ("redis", "eager", "configured"),
    [("", False, False), (DEAD_BROKER, True, False), (DEAD_BROKER, False, True)],
    ids=["no broker", "eager", "broker"],
)
def test_without_a_broker_or_with_an_eager_celery_the_row_waits(
    settings: Settings, redis: str, eager: bool, configured: bool
) -> None:
    """Invariant 5: nothing of a run executes in a request."""
    settings.A2A_REDIS_URL = redis
    settings.CELERY_TASK_ALWAYS_EAGER = eager

    assert nudges.is_configured() is configured


@contextmanager
def _broker(url: str) -> Iterator[None]:
    before, app.conf.broker_url = app.conf.broker_url, url
    _forget_connections()
    try:
        yield
    finally:
        app.conf.broker_url = before
        _forget_connections()


def _forget_connections() -> None:
    """Those that Celery keeps to the broker of before."""
    pools.reset()
    app._pool = None
    app.amqp._producer_pool = None


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_is_down_is_logged_without_its_address(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """W5: the failure changes nothing."""
    settings.A2A_REDIS_URL = DEAD_BROKER
    with _broker(DEAD_BROKER):
        with transaction.atomic():
            nudges.nudge_on_commit(uuid4())
        nudges.flush(10)

    assert "nudge not sent" in caplog.text
    assert "127.0.0.1" not in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_hangs_does_not_hold_the_caller(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """W5: the caller is back while the nudge still waits to be sent."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.A2A_REDIS_URL = url = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        with _broker(url):
            with transaction.atomic():
                nudges.nudge_on_commit(uuid4())
            still_waiting = nudges._sender._queue.unfinished_tasks
            nudges.flush(30)

    assert still_waiting == 1
    assert nudges._sender._queue.unfinished_tasks == 0
    assert "nudge not sent" in caplog.text
