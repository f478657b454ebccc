"""Tasks as clients see them: history, with one action (O2).

The document is text that others wrote. It is shown as plain text, escaped and cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets

from a2a_server.admin import reading
from a2a_server.models import Client, Profile, Task, TaskEvent, TaskMessage
from agent_runs.admin.canceling import CancelAdmin
from agent_runs.admin.fields import NOTHING, opened, preformatted
from agent_runs.admin.history import HistoryInline

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.db.models import QuerySet
    from django.http import HttpRequest
    from django.utils.safestring import SafeString

    from agent_runs.models import AgentRun

_ENCRYPTED = ("head", "history", "artifacts", "reply")


# --- Inlines --------------------------------------------------------------------------


class _PartOfTask(HistoryInline[Any, Task]):
    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may see the task may see what it consists of."""
        return request.user.has_perm("a2a_server.view_task")


class MessageInline(_PartOfTask):
    model = TaskMessage
    fields = readonly_fields = ("message_id", "created_at")
    ordering = ("created_at", "pk")

    @admin.display(description="message id")
    def message_id(self, message: TaskMessage) -> str:
        return message.dedupe_key or "not kept"


class EventInline(_PartOfTask):
    model = TaskEvent
    fields = readonly_fields = ("sequence", "created_at", "payload_shown")
    ordering = ("sequence",)

    @admin.display(description="payload")
    def payload_shown(self, event: TaskEvent) -> SafeString:
        return preformatted(opened(event, "payload") or "")


# --- The page -------------------------------------------------------------------------


class ClientFilter(admin.SimpleListFilter):
    title = "client"
    parameter_name = "client"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        names = Client.objects.order_by("name").values_list("pk", "name")
        return [(str(pk), name) for pk, name in names]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        known = dict(self.lookup_choices)
        return (
            queryset.filter(client=self.value()) if self.value() in known else queryset
        )


class ProfileFilter(admin.SimpleListFilter):
    title = "skill"
    parameter_name = "profile"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        profiles = Profile.objects.order_by("name")
        return [(str(profile.pk), str(profile)) for profile in profiles]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        known = dict(self.lookup_choices)
        value = self.value()
        return queryset.filter(profile=value) if value in known else queryset


@admin.register(Task)
class TaskAdmin(CancelAdmin[Task]):
    inlines = (MessageInline, EventInline)
    list_display = ("short_id", "state", "client", "profile", "status_at", "created_at")
    list_filter = ("state", ClientFilter, ProfileFilter, "status_at")
    list_select_related = ("client", "profile")
    ordering = ("-status_at", "-id")
    empty_list_hint = (
        "No task yet. A client's message makes one; ended tasks are deleted with their "
        "runs after the retention time."
    )
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "id",
                    "state",
                    "status_at",
                    "created_at",
                    "client",
                    "profile",
                    "run",
                    "context_id",
                )
            },
        ),
        (
            "What the client sees",
            {
                "fields": (
                    "status_shown",
                    "history_shown",
                    "artifacts_shown",
                    "reply_shown",
                )
            },
        ),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Task]:
        return super().get_queryset(request).defer(*_ENCRYPTED)

    def get_readonly_fields(
        self, request: HttpRequest, obj: Task | None = None
    ) -> list[str]:
        return [str(name) for name in flatten_fieldsets(self.fieldsets)]

    def run_of(self, row: Task) -> AgentRun:
        return row.run

    def rows_with_runs(self, rows: QuerySet[Task]) -> QuerySet[Task]:
        return rows.select_related("run")

    @admin.display(description="status")
    def status_shown(self, task: Task) -> SafeString | str:
        return _shown(task, "head", reading.status)

    @admin.display(description="history")
    def history_shown(self, task: Task) -> SafeString | str:
        return _shown(task, "history", reading.messages)

    @admin.display(description="artifacts")
    def artifacts_shown(self, task: Task) -> SafeString | str:
        return _shown(task, "artifacts", reading.artifacts)

    @admin.display(description="reply")
    def reply_shown(self, task: Task) -> SafeString | str:
        return _shown(task, "reply", reading.messages)


def _shown(task: Task, name: str, read: Callable[[str], str]) -> SafeString | str:
    stored = opened(task, name)
    return preformatted(read(stored)) if stored else NOTHING
