from __future__ import annotations

import pytest
from celery.signals import celeryd_init

from a2a_project import celery_app
from agent_runs.celery_worker import HeartbeatStep
from agent_runs.nudges import TASK_NAME


# Celery runs Django's checks when it imports the tasks, and these ask the database.
@pytest.mark.django_db
def test_knows_the_tasks_that_nudges_and_beat_name() -> None:
    """W5."""
    celery_app.loader.import_default_modules()

    scheduled = {entry["task"] for entry in celery_app.conf.beat_schedule.values()}
    assert {TASK_NAME, *scheduled} <= set(celery_app.tasks)


def test_sends_runs_and_periodic_jobs_to_queues_of_their_own() -> None:
    """W6."""
    route = celery_app.amqp.router.route({}, "agent_runs.run_periodic_jobs")

    assert route["queue"].name == "agent_sweep"
    assert celery_app.conf.task_default_queue == "agent_runs"


def test_publishes_without_retries_and_with_a_short_time_out() -> None:
    """W5."""
    assert celery_app.conf.task_publish_retry is False
    assert celery_app.conf.broker_transport_options["socket_connect_timeout"] == 1


def test_a_starting_worker_gets_a_heartbeat() -> None:
    """W1."""
    celeryd_init.send(sender="worker", instance=None, conf=celery_app.conf)

    assert HeartbeatStep in celery_app.steps["worker"]
