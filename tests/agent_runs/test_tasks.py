from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from django.db import OperationalError

from a2a_project.celery import app
from agent_runs import engine, nudges, tasks
from agent_runs.models import PeriodicJobState, RunState
from tests import factories

if TYPE_CHECKING:
    from uuid import UUID

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_nudge_runs_the_run() -> None:
    run = factories.make_run(configuration=factories.make_configuration())

    tasks.execute_run(run_id=str(run.id))

    run.refresh_from_db()
    assert run.state == RunState.COMPLETED


def test_a_nudge_survives_that_the_store_was_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """W5: it would be repeated a minute later, and somebody waits for it."""
    run = factories.make_run(configuration=factories.make_configuration())
    execute, tries = engine.execute, []

    def fail_once(run_id: UUID) -> bool:
        tries.append(run_id)
        if len(tries) == 1:
            raise OperationalError
        return execute(run_id)

    monkeypatch.setattr(engine, "execute", fail_once)

    tasks.execute_run(run_id=str(run.id))

    run.refresh_from_db()
    assert (run.state, tries) == (RunState.COMPLETED, [run.id] * 2)


def test_a_nudge_of_a_newer_release_may_say_more() -> None:
    """Rolling deploys: unknown arguments are no error."""
    tasks.execute_run(run_id=str(uuid4()), priority=1)


def test_beat_runs_the_periodic_jobs() -> None:
    tasks.run_periodic_jobs()

    assert PeriodicJobState.objects.filter(name="reap").exists()


def test_the_jobs_have_a_queue_of_their_own() -> None:
    """W6: the reaper never waits behind the runs it has to rescue."""
    router = app.amqp.Router()

    runs = router.route({}, nudges.TASK_NAME)["queue"].name
    jobs = router.route({}, tasks.run_periodic_jobs.name)["queue"].name

    assert (runs, jobs) == ("agent_runs", "agent_sweep")


def test_celery_acknowledges_late_and_hoards_nothing() -> None:
    """W5."""
    assert app.conf.task_acks_late
    assert app.conf.worker_prefetch_multiplier == 1
    assert app.conf.task_publish_retry is False
    assert app.conf.broker_transport_options["socket_connect_timeout"] == 1
