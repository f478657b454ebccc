"""The Celery tasks: a nudge becomes one service call. Arguments are ids only (W5)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from celery import shared_task
from django.db import connection

from agent_runs import engine, nudges, periodic
from agent_runs.store import STORE_AWAY, look_after_connection


@shared_task(name=nudges.TASK_NAME, ignore_result=True)  # type: ignore[untyped-decorator]
def execute_run(*, run_id: str, **_: Any) -> None:
    # Celery keeps the connection between tasks (CELERY_DB_REUSE_MAX) and checks nothing.
    look_after_connection()
    try:
        _execute(UUID(run_id))
    finally:
        look_after_connection()


def _execute(run_id: UUID) -> None:
    try:
        engine.execute(run_id)
    except STORE_AWAY:
        # Before the claim, or with it: otherwise the run would wait for the next nudge.
        connection.close()
        engine.execute(run_id)


@shared_task(name="agent_runs.run_periodic_jobs", ignore_result=True)  # type: ignore[untyped-decorator]
def run_periodic_jobs(**_: Any) -> None:
    look_after_connection()
    try:
        periodic.run_due_jobs()
    finally:
        look_after_connection()
