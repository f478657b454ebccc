"""Who executes runs just now (W1, W2): a page to look at, written by the workers alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import DateTimeField, Value
from django.utils.timesince import timesince

from agent_runs import clock, workers
from agent_runs.admin.history import HistoryAdmin
from agent_runs.models import WorkerHeartbeat

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest


@admin.register(WorkerHeartbeat)
class WorkerHeartbeatAdmin(HistoryAdmin[WorkerHeartbeat]):
    list_display = (
        "short_id",
        "transport",
        "live",
        "age",
        "concurrency",
        "queues",
        "version",
        "started_at",
    )
    list_filter = ("transport",)
    search_fields = []
    ordering = ("-last_seen_at", "worker_id")
    fields = ("worker_id", *list_display[1:], "last_seen_at")
    empty_list_hint = (
        "No worker was seen. Start one: «manage.py agent_work --loop», or a Celery worker "
        "on the queue agent_runs."
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[WorkerHeartbeat]:
        # The database's clock wrote `last_seen_at`; no other may judge it.
        now = Value(clock.database_now(), output_field=DateTimeField())
        return super().get_queryset(request).annotate(now=now)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> Any:
        is_served = workers.is_worker_available(clock.database_now())
        state = (
            "At least one worker is live: messages are accepted."
            if is_served
            else "No worker is live: messages are refused until one is started."
        )
        context = {"subtitle": state} | (extra_context or {})
        return super().changelist_view(request, context)

    @admin.display(boolean=True, description="live")
    def live(self, worker: Any) -> bool:
        return bool(
            worker.now - workers.SEEN_WITHIN <= worker.last_seen_at <= worker.now
        )

    @admin.display(description="last seen")
    def age(self, worker: Any) -> str:
        if worker.last_seen_at > worker.now:
            return "in the future: the row is not believed"
        seconds = int((worker.now - worker.last_seen_at).total_seconds())
        if seconds < 60:
            return f"{seconds} s ago"
        return f"{timesince(worker.last_seen_at, worker.now)} ago"
