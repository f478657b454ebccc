from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import Count, Q
from django.urls import reverse
from django.utils.html import format_html

from agent_runs.admin.records import RecordAdmin
from agent_runs.models import DraftState, Workspace

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest
    from django.utils.safestring import SafeString

_OPEN = Count("drafts", filter=Q(drafts__state=DraftState.OPEN), distinct=True)


@admin.register(Workspace)
class WorkspaceAdmin(RecordAdmin[Workspace]):
    list_display = ("name", "description", "people", "open_drafts")
    search_fields = ("name", "description")
    ordering = ("name",)
    filter_horizontal = ("members",)
    way_out = (
        "Take it from the clients first; a workspace that runs wrote to, or that has "
        "drafts, stays."
    )
    empty_list_hint = (
        "No workspace yet. A client that may call a writing skill needs one: its runs "
        "write drafts there."
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Workspace]:
        counts = {"people_count": Count("members", distinct=True), "open_count": _OPEN}
        return super().get_queryset(request).annotate(**counts)

    def get_fields(self, request: HttpRequest, obj: Workspace | None = None) -> Any:
        fields = ("name", "description", "members")
        # A new one has no drafts to tell about.
        return fields if obj is None else (*fields, "open_drafts")

    def get_readonly_fields(
        self, request: HttpRequest, obj: Workspace | None = None
    ) -> Any:
        return () if obj is None else ("open_drafts",)

    @admin.display(description="members")
    def people(self, workspace: Any) -> int:
        return int(workspace.people_count)

    @admin.display(description="open drafts")
    def open_drafts(self, workspace: Any) -> SafeString:
        url = reverse("admin:agent_runs_draft_changelist")
        return format_html(
            '<a href="{}?workspace={}">{}</a>', url, workspace.pk, workspace.open_count
        )
