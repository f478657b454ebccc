from __future__ import annotations

import time
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from django.db import transaction

from a2a_project.celery import app
from agent_runs import nudges

if TYPE_CHECKING:
    from pytest_django.fixtures import SettingsWrapper

DEAD_BROKER = "redis://127.0.0.1:1/0"


@pytest.mark.parametrize(
    ("redis", "eager", "configured"),
    [("", False, False), (DEAD_BROKER, True, False), (DEAD_BROKER, False, True)],
    ids=["no broker", "eager", "broker"],
)
def test_without_a_broker_or_with_an_eager_celery_the_row_waits(
    settings: SettingsWrapper, redis: str, eager: bool, configured: bool
) -> None:
    """Invariant 5: nothing of a run executes in a request."""
    settings.A2A_REDIS_URL = redis
    settings.CELERY_TASK_ALWAYS_EAGER = eager

    assert nudges.is_configured() is configured


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_is_down_costs_the_caller_nothing(
    settings: SettingsWrapper, caplog: pytest.LogCaptureFixture
) -> None:
    """W5: the failure is logged, without the broker's address, and changes nothing."""
    settings.A2A_REDIS_URL = DEAD_BROKER
    before, app.conf.broker_url = app.conf.broker_url, DEAD_BROKER
    started = time.monotonic()
    try:
        with transaction.atomic():
            nudges.nudge_on_commit(uuid4())
        returned_after = time.monotonic() - started
        nudges.flush(10)
    finally:
        app.conf.broker_url = before

    assert returned_after < 0.5
    assert "nudge not sent" in caplog.text
    assert "127.0.0.1" not in caplog.text
