"""`manage.py agent_status`: is the queue served; for people and for monitoring (W4)."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.db import Error as DatabaseError

from agent_runs import health
from agent_runs.management.command import ExitCommand, ExitError, bounded
from agent_runs.models.worker import Transport

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator

    from agent_runs.health import Health

_A_DAY = 86_400


class Command(ExitCommand):
    help = "Shows queue and workers. Exit code 0: healthy, 1: not."
    # Monitoring calls it every minute, also while a setting is wrong.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--transport",
            choices=[*Transport.values, "any"],
            default="any",
            help="which workers count (any)",
        )
        parser.add_argument(
            "--minimum-workers",
            type=bounded(int, 0, 10_000),
            default=1,
            help="fewer live workers are unhealthy (1)",
        )
        parser.add_argument(
            "--max-queue-wait",
            type=bounded(float, 0, _A_DAY),
            default=300,
            help="a longer wait of a due run is unhealthy; seconds (300)",
        )
        parser.add_argument(
            "--worker-max-age",
            type=bounded(float, 1, _A_DAY),
            default=120,
            help="a worker not seen for longer is not live; seconds (120)",
        )
        parser.add_argument("--json", action="store_true", help="print for machines")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            found = health.read(_limits(options))
        except DatabaseError as error:
            raise ExitError("The database cannot be used.") from error
        if options["json"]:
            self.stdout.write(json.dumps(_document(found)))
        else:
            self.stdout.write("\n".join(_lines(found)))
        if not found.is_healthy:
            raise ExitError(" ".join(found.problems))


def _limits(options: dict[str, Any]) -> health.Limits:
    transport = options["transport"]
    return health.Limits(
        transports=tuple(Transport) if transport == "any" else (Transport(transport),),
        minimum_workers=options["minimum_workers"],
        max_queue_wait=timedelta(seconds=options["max_queue_wait"]),
        worker_max_age=timedelta(seconds=options["worker_max_age"]),
    )


def _document(found: Health) -> dict[str, Any]:
    """Times in seconds; null: there is none."""
    return {
        "healthy": found.is_healthy,
        "queued": found.queued,
        "running": found.running,
        "failed_without_retry": found.failed_without_retry,
        "expired_leases": found.expired_leases,
        "oldest_queue_wait": _seconds(found.oldest_queue_wait),
        "live_workers": found.live_worker_count,
        "live_workers_by_transport": dict(found.live_workers),
        "waiting_approvals": found.waiting_approvals,
        "oldest_approval_wait": _seconds(found.oldest_approval_wait),
        "waiting_questions": found.waiting_questions,
        "oldest_question_wait": _seconds(found.oldest_question_wait),
        "problems": list(found.problems),
    }


def _seconds(duration: timedelta | None) -> float | None:
    return None if duration is None else round(duration.total_seconds(), 3)


def _lines(found: Health) -> Iterator[str]:
    by_transport = ", ".join(f"{n} {name}" for name, n in found.live_workers.items())
    yield "Healthy." if found.is_healthy else "Not healthy."
    yield f"Live workers: {found.live_worker_count} ({by_transport})"
    yield f"Queued: {found.queued}{_oldest(found.oldest_queue_wait)}"
    yield f"Running: {found.running}, of them without a live lease: {found.expired_leases}"
    yield f"Failed without retry: {found.failed_without_retry}"
    yield (
        f"Waiting approvals: {found.waiting_approvals}"
        f"{_oldest(found.oldest_approval_wait)}"
    )
    yield (
        f"Waiting questions: {found.waiting_questions}"
        f"{_oldest(found.oldest_question_wait)}"
    )


def _oldest(wait: timedelta | None) -> str:
    return "" if wait is None else f", the oldest for {wait.total_seconds():.0f} s"
