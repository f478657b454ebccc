"""Where people see what was published, and look after it."""

from __future__ import annotations

from typing import ClassVar

from django.contrib import admin

from a2a_project.newsroom.models import Article, Section
from agent_runs.admin.deleting import KeptWhileUsed


@admin.register(Section)
class SectionAdmin(KeptWhileUsed[Section]):
    list_display = ("name",)
    search_fields = ("name",)
    ordering = ("name",)
    way_out: ClassVar[str] = "Move its articles to another section first."


@admin.register(Article)
class ArticleAdmin(KeptWhileUsed[Article]):
    list_display = ("title", "section", "changed_at")
    list_select_related = ("section",)
    list_filter = ("section",)
    search_fields = ("title", "text")
    ordering = ("-changed_at", "-id")
    readonly_fields = ("changed_at",)
