"""Runs and what happened in them (R15, O2): history, with one action."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets
from django.contrib.auth import get_user_model
from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Exists, OneToOneRel, OuterRef
from django.template.loader import render_to_string
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html, format_html_join

from agent_runs import deciding, registries
from agent_runs.admin import timeline
from agent_runs.admin.awaited import card_url, sentence
from agent_runs.admin.canceling import CancelAdmin
from agent_runs.admin.fields import NOTHING, opened, preformatted, spent
from agent_runs.admin.history import HandlerFilter, handler_label
from agent_runs.contents import ContentsError, DataPart, Result, TextPart, load_result
from agent_runs.models import AgentRun
from agent_runs.models.run import WAITING_FOR_PEOPLE

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest
    from django.utils.safestring import SafeString

    from agent_runs.contents import Part
    from agent_runs.registries import Handover

_ENCRYPTED = ("request", "checkpoint", "pending", "result", "waiting_for")


class OwnerFilter(admin.SimpleListFilter):
    """People who own a run; each is looked up through the index, none is counted."""

    title = "owner"
    parameter_name = "owner"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        owned = AgentRun.objects.filter(owner=OuterRef("pk"))
        people = get_user_model().objects.filter(Exists(owned))
        name = get_user_model().USERNAME_FIELD
        return [
            (str(pk), str(n)) for pk, n in people.order_by(name).values_list("pk", name)
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        known = dict(self.lookup_choices)
        return (
            queryset.filter(owner=self.value()) if self.value() in known else queryset
        )


@admin.register(AgentRun)
class AgentRunAdmin(CancelAdmin[AgentRun]):
    list_display = (
        "short_id",
        "outcome",
        "handler_shown",
        "owner",
        "created_at",
        "duration",
    )
    list_filter = ("state", HandlerFilter, OwnerFilter, "created_at")
    list_select_related = ("owner",)
    ordering = ("-created_at", "-id")
    empty_list_hint = (
        "No run yet. A message to a skill makes one; ended runs are deleted after the "
        "retention time."
    )
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "id",
                    "state_shown",
                    "end_reason",
                    "truncated_shown",
                    "owner",
                    "starter",
                    "handler_shown",
                    "configuration",
                    "workspace",
                    "tools_shown",
                    "answer_level",
                    "belongs_to",
                    "handed_over",
                )
            },
        ),
        ("Result", {"fields": ("result_shown",)}),
        ("Writes", {"fields": ("writes_shown",)}),
        ("Timeline", {"fields": ("timeline_shown",)}),
        (
            "Times",
            {
                "fields": (
                    "created_at",
                    "started_at",
                    "state_changed_at",
                    "due_at",
                    "ended_at",
                    "duration",
                )
            },
        ),
        (
            "Effort",
            {
                "fields": (
                    "segments",
                    "requeues",
                    "rounds",
                    "input_tokens",
                    "output_tokens",
                    "effects_shown",
                    "lease_expires_at",
                )
            },
        ),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[AgentRun]:
        return super().get_queryset(request).defer(*_ENCRYPTED)

    def get_readonly_fields(
        self, request: HttpRequest, obj: AgentRun | None = None
    ) -> list[str]:
        return [str(name) for name in flatten_fieldsets(self.fieldsets)]

    def run_of(self, row: AgentRun) -> AgentRun:
        return row

    def rows_with_runs(self, rows: QuerySet[AgentRun]) -> QuerySet[AgentRun]:
        return rows

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> AgentRun | None:
        run = super().get_object(request, object_id, from_field)
        if run is not None:
            _tell_who_looks(run, request.user)
        return run

    # --- Cells

    @admin.display(description="state")
    def state_shown(self, run: Any) -> SafeString | str:
        state: str = run.get_state_display()
        if run.state not in WAITING_FOR_PEOPLE:
            return state
        told = sentence(run)
        if not run.is_decidable:
            return f"{state}. {told}"
        return format_html('{}. <a href="{}">{}</a>', state, card_url(run), told)

    @admin.display(description="state")
    def outcome(self, run: AgentRun) -> str:
        """With the reason where it tells more than the state."""
        state, reason = run.get_state_display(), run.get_end_reason_display()
        return f"{state}: {reason}" if reason and reason != state else state

    @admin.display(description="domain handler")
    def handler_shown(self, run: AgentRun) -> str:
        return handler_label(run.handler)

    @admin.display(description="truncated")
    def truncated_shown(self, run: AgentRun) -> str:
        return "yes: it answered at the round limit" if run.truncated else "no"

    @admin.display(description="has effects")
    def effects_shown(self, run: AgentRun) -> str:
        return "yes: it never starts over" if run.has_effects else "no"

    @admin.display(description="tools")
    def tools_shown(self, run: AgentRun) -> str:
        return ", ".join(map(str, run.tools)) if run.tools else "none"

    @admin.display(description="how long")
    def duration(self, run: AgentRun) -> str:
        if run.started_at is None or run.ended_at is None:
            return NOTHING
        return spent((run.ended_at - run.started_at).total_seconds())

    @admin.display(description="belongs to")
    def belongs_to(self, run: AgentRun) -> SafeString | str:
        """Links to records of upper packages that have this run for their own."""
        links = [link for row in _rows_about(run) if (link := _link_to(row))]
        return format_html_join(", ", "{}", ((link,) for link in links)) or NOTHING

    @admin.display(description="handed over")
    def handed_over(self, run: Any) -> SafeString | str:
        """Links to what upper packages know of steps that others took for the run."""
        found = registries.handovers(run.pk, run.looker)
        return format_html_join(", ", "{}", map(_link_or_text, found)) or NOTHING

    @admin.display(description="result")
    def result_shown(self, run: AgentRun) -> SafeString | str:
        stored = opened(run, "result")
        if stored is None:
            return NOTHING
        try:
            return preformatted(_result_text(load_result(stored)))
        except (ContentsError, ValueError, KeyError, TypeError):
            return "Stored in a form that this release cannot show."

    @admin.display(description="events")
    def timeline_shown(self, run: AgentRun) -> SafeString:
        rows = [timeline.row(run, event) for event in timeline.events_of(run)]
        return render_to_string("agent_runs/timeline.html", {"rows": rows})

    @admin.display(description="writes")
    def writes_shown(self, run: AgentRun) -> SafeString:
        rows = timeline.writes(run)
        return render_to_string("agent_runs/writes.html", {"rows": rows})


def _tell_who_looks(run: Any, user: Any) -> None:
    """A cell is given the row alone, and some depend on the reader (R20)."""
    run.is_decidable = deciding.person_problem(run, user) is None
    run.looker = user


def _rows_about(run: AgentRun) -> list[Any]:
    relations = [r for r in run._meta.related_objects if isinstance(r, OneToOneRel)]
    rows = []
    for relation in relations:
        try:
            rows.append(getattr(run, relation.get_accessor_name() or ""))
        except ObjectDoesNotExist:
            continue
    return rows


def _link_to(row: Any) -> SafeString | None:
    opts = row._meta
    try:
        url = reverse(f"admin:{opts.app_label}_{opts.model_name}_change", args=[row.pk])
    except NoReverseMatch:
        return None
    return format_html('<a href="{}">{}</a>', url, row)


def _link_or_text(found: Handover) -> tuple[SafeString | str]:
    if not found.url:
        return (found.text,)
    return (format_html('<a href="{}">{}</a>', found.url, found.text),)


def _result_text(result: Result) -> str:
    parts = [part for output in result.outputs for part in output.parts]
    texts = [_part_text(part) for part in (*parts, *result.message)]
    return "\n\n".join(filter(None, [*texts, result.note]))


def _part_text(part: Part) -> str:
    if isinstance(part, TextPart):
        return part.text
    if isinstance(part, DataPart):
        return json.dumps(part.data, ensure_ascii=False, indent=2)
    return f"[{part.filename or 'file'}, {part.media_type}]"
