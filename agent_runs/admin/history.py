"""Pages of what happened: nothing is added, changed or deleted there.

These tables grow without end, so nothing here counts them, sorts them by a column without
an index or compares text with a key: a page reads one row more than it shows, and a
search takes an id or its beginning.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.views.main import PAGE_VAR
from django.core.paginator import Paginator

from agent_runs.admin.nonsense import SteadyAdmin
from agent_runs.admin.typed import M, P, TypedInline
from agent_runs.handlers import find, registered

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest

_PREFIX = re.compile(r"[0-9a-f]{4,32}\Z")
PAGE_SIZE = 50

if TYPE_CHECKING:
    _Paginator = Paginator[Any]
else:
    _Paginator = Paginator


class OpenEndedPaginator(_Paginator):
    """Knows only whether there is a page after the one that is asked for."""

    def __init__(self, rows: QuerySet[Any], per_page: int, page: int) -> None:
        super().__init__(rows, per_page)
        self.rows = rows
        self.page_asked_for = page

    @cached_property
    def count(self) -> int:
        """How many rows there are up to the first one of the next page."""
        start = (self.page_asked_for - 1) * self.per_page
        rows = self.rows[start : start + self.per_page + 1]
        return start + len(rows.values_list("pk"))

    @property
    def has_more(self) -> bool:
        return self.count > self.page_asked_for * self.per_page


class _ReadOnly:
    """Mixed into pages and inlines; who may view is Django's question."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class HistoryInline(_ReadOnly, TypedInline[M, P]):
    extra = 0
    can_delete = False


class HistoryAdmin(_ReadOnly, SteadyAdmin[M]):
    list_per_page = PAGE_SIZE
    change_list_template = "agent_runs/history_list.html"
    list_max_show_all = 0
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    sortable_by = ()
    search_fields = ["pk"]
    search_help_text = "An id, or at least its first four characters."
    empty_list_hint = ""

    class Media:
        css = {"all": ["agent_runs/admin.css"]}

    @admin.display(description="id")
    def short_id(self, row: M) -> str:
        """Enough to tell rows apart and to search for one; its page has the whole."""
        return str(row.pk)[:8]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> Any:
        context = {"empty_list_hint": self.empty_list_hint} | (extra_context or {})
        return super().changelist_view(request, context)

    def get_paginator(
        self,
        request: HttpRequest,
        queryset: QuerySet[M],
        per_page: int,
        orphans: int = 0,
        allow_empty_first_page: bool = True,
    ) -> OpenEndedPaginator:
        asked_for = request.GET.get(PAGE_VAR, "1")
        page = int(asked_for) if re.fullmatch("[0-9]{1,6}", asked_for) else 1
        return OpenEndedPaginator(queryset, per_page, max(page, 1))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[M], search_term: str
    ) -> tuple[QuerySet[M], bool]:
        term = search_term.strip().lower().replace("-", "")
        if not term or not self.search_fields:
            return queryset, False
        if not _PREFIX.match(term):
            return queryset.none(), False
        first, last = UUID(term.ljust(32, "0")), UUID(term.ljust(32, "f"))
        return queryset.filter(pk__gte=first, pk__lte=last), False


class HandlerFilter(admin.SimpleListFilter):
    """The handlers that are installed; `handler` is a column of the model."""

    title = "domain handler"
    parameter_name = "handler"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            (handler.name, handler.label or handler.name) for handler in registered()
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(handler=self.value()) if self.value() else queryset


def handler_label(name: str) -> str:
    handler = find(name)
    return (handler.label or name) if handler else f"{name} (not installed)"
