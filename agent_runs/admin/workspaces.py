from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import Count

from agent_runs.admin.records import RecordAdmin
from agent_runs.models import Workspace

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest


@admin.register(Workspace)
class WorkspaceAdmin(RecordAdmin[Workspace]):
    list_display = ("name", "description", "people")
    search_fields = ("name", "description")
    ordering = ("name",)
    filter_horizontal = ("members",)
    way_out = "Take it from the clients first; a workspace that runs wrote to stays."
    empty_list_hint = (
        "No workspace yet. A client that may call a writing skill needs one: its runs "
        "write drafts there."
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Workspace]:
        return super().get_queryset(request).annotate(people_count=Count("members"))

    @admin.display(description="members")
    def people(self, workspace: Any) -> int:
        return int(workspace.people_count)
