"""Is the queue served: the figures of `agent_status` and of the admin's page (W4).

Aggregates only; three short queries whatever the installation's size.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db.models import Count, Min, Q

from agent_runs import clock, workers
from agent_runs.models import AgentRun, RunState
from agent_runs.models.worker import Transport

if TYPE_CHECKING:
    from collections.abc import Mapping

# Within this time the reaper has found every lease that ran out.
LEASE_GRACE = timedelta(seconds=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Beyond these an installation is unhealthy."""

    transports: tuple[Transport, ...] = tuple(Transport)
    minimum_workers: int = 1
    max_queue_wait: timedelta = timedelta(seconds=300)
    worker_max_age: timedelta = workers.SEEN_WITHIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Counts of runs and workers; the waits are those of the oldest, None: there is none.

    `failed_without_retry`: kept failed runs that were tried once only. `problems` holds a
    sentence per broken limit.
    """

    queued: int
    running: int
    failed_without_retry: int
    expired_leases: int
    oldest_queue_wait: timedelta | None
    waiting_approvals: int
    oldest_approval_wait: timedelta | None
    waiting_questions: int
    oldest_question_wait: timedelta | None
    live_workers: Mapping[str, int]
    problems: tuple[str, ...] = field(default=())

    @property
    def is_healthy(self) -> bool:
        return not self.problems

    @property
    def live_worker_count(self) -> int:
        return sum(self.live_workers.values())


def read(limits: Limits) -> Health:
    now = clock.database_now()
    runs = _run_figures(now)
    live = _live_workers(now, limits)
    queue_wait = _age(runs["oldest_due_at"], now)
    return Health(
        queued=runs["queued"],
        running=runs["running"],
        failed_without_retry=runs["failed_without_retry"],
        expired_leases=runs["expired_leases"],
        oldest_queue_wait=queue_wait,
        waiting_approvals=runs["approvals"],
        oldest_approval_wait=_age(runs["oldest_approval_at"], now),
        waiting_questions=runs["questions"],
        oldest_question_wait=_age(runs["oldest_question_at"], now),
        live_workers=live,
        problems=tuple(_problems(limits, live, queue_wait, runs["overdue_leases"])),
    )


def _run_figures(now: datetime) -> dict[str, Any]:
    queued = Q(state=RunState.QUEUED)
    running = Q(state=RunState.RUNNING)
    approval = Q(state=RunState.WAITING_FOR_APPROVAL)
    question = Q(state=RunState.WAITING_FOR_INPUT)
    failed_once = Q(state=RunState.FAILED, requeues=0)
    counted = queued | running | approval | question | failed_once
    return AgentRun.objects.filter(counted).aggregate(
        queued=Count("pk", filter=queued),
        # A run that waits for its next try is not late.
        oldest_due_at=Min("due_at", filter=queued & Q(due_at__lte=now)),
        running=Count("pk", filter=running),
        expired_leases=Count("pk", filter=running & Q(lease_expires_at__lt=now)),
        overdue_leases=Count(
            "pk", filter=running & Q(lease_expires_at__lt=now - LEASE_GRACE)
        ),
        failed_without_retry=Count("pk", filter=failed_once),
        approvals=Count("pk", filter=approval),
        oldest_approval_at=Min("state_changed_at", filter=approval),
        questions=Count("pk", filter=question),
        oldest_question_at=Min("state_changed_at", filter=question),
    )


def _live_workers(now: datetime, limits: Limits) -> dict[str, int]:
    live = workers.live_workers(
        now, max_age=limits.worker_max_age, transports=limits.transports
    )
    counted = live.values_list("transport").annotate(Count("pk"))
    return dict.fromkeys((t.value for t in limits.transports), 0) | dict(counted)


def _age(since: datetime | None, now: datetime) -> timedelta | None:
    return None if since is None else max(now - since, timedelta())


def _problems(
    limits: Limits,
    live: Mapping[str, int],
    queue_wait: timedelta | None,
    overdue_leases: int,
) -> list[str]:
    problems = []
    count = sum(live.values())
    if count < limits.minimum_workers:
        problems.append(
            f"{count} live workers, at least {limits.minimum_workers} wanted."
        )
    if queue_wait is not None and queue_wait > limits.max_queue_wait:
        problems.append(
            f"The oldest queued run waits for {queue_wait.total_seconds():.0f} s, more "
            f"than {limits.max_queue_wait.total_seconds():.0f} s."
        )
    if overdue_leases:
        problems.append(
            f"{overdue_leases} running runs lost their worker more than "
            f"{LEASE_GRACE.total_seconds():.0f} s ago."
        )
    return problems
