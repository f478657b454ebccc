"""Tool management: what is installed, what counts for it, and who is given it (T2, T3).

A tool is code and its row only says what differs from it, so these pages show tools by
name, whether there is a row or not; an override that says nothing more has no row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.admin.utils import quote, unquote
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse

from agent_runs import registries
from agent_runs.admin.history import PAGE_SIZE
from agent_runs.admin.nonsense import SteadyAdmin
from agent_runs.admin.parameters import parameters
from agent_runs.models import ToolSetting
from agent_runs.saving import listed
from agent_runs.tools import grants, overrides

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from django.http import HttpRequest, HttpResponse

    from agent_runs.effects import Effect
    from agent_runs.registries import ToolAudience, ToolAudienceSource
    from agent_runs.tools.contract import Tool
    from agent_runs.tools.grants import ManagedTool

_DECLARED, _ON, _OFF = "", "on", "off"
_STORED = {_DECLARED: None, _ON: True, _OFF: False}
_CHOSEN = {stored: choice for choice, stored in _STORED.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A tool as the pages show it; `managed` is None where it is not installed."""

    name: str
    setting: ToolSetting
    managed: ManagedTool | None

    @property
    def url(self) -> str:
        return reverse("admin:agent_runs_toolsetting_change", args=[quote(self.name)])

    @property
    def declared(self) -> Tool | None:
        return None if self.managed is None else self.managed.declared

    @property
    def enabled(self) -> str:
        tool = self.declared
        return _counted(
            self.setting.enabled, None if tool is None else tool.enabled_by_default
        )

    @property
    def approval(self) -> str:
        tool = self.declared
        if tool is not None and tool.asks_client:
            return "not needed: it only asks"
        declared = None if tool is None else tool.needs_approval
        return _counted(self.setting.requires_approval, declared)

    @property
    def effect(self) -> str:
        return effect_label(self.managed.tool.effect) if self.managed else ""


def effect_label(effect: Effect) -> str:
    if not effect.is_write:
        return "reads"
    return "writes, may repeat" if effect.may_repeat else "writes once"


def _counted(stored: bool | None, declared: bool | None) -> str:
    """What counts, and where that comes from."""
    if declared is None:
        return "as declared" if stored is None else _switch(stored)
    if stored is None:
        return f"{_switch(declared)}, as declared"
    return f"{_switch(stored)}, set here (declared: {_switch(declared)})"


def _switch(value: bool) -> str:
    return "on" if value else "off"


def _rows() -> Iterator[_Row]:
    """What is installed by name, then the settings of what is not."""
    stored = {setting.name: setting for setting in ToolSetting.objects.order_by("name")}
    known = grants.managed()
    for name in (*known, *(name for name in stored if name not in known)):
        setting = stored.get(name) or ToolSetting(name=name)
        yield _Row(name=name, setting=setting, managed=known.get(name))


# --- The form -------------------------------------------------------------------------


class ToolForm(forms.Form):
    enabled = forms.ChoiceField(required=False)
    approval = forms.ChoiceField(
        required=False,
        label="Approval by a person",
        help_text="On: a run that calls the tool waits until a person approves.",
    )

    def __init__(self, row: _Row, data: Mapping[str, Any] | None = None) -> None:
        setting, tool = row.setting, row.declared
        initial = {
            "enabled": _CHOSEN[setting.enabled],
            "approval": _CHOSEN[setting.requires_approval],
        }
        super().__init__(data, initial=initial)
        self.stored_approval = setting.requires_approval
        self._offer("enabled", None if tool is None else tool.enabled_by_default)
        self._offer("approval", None if tool is None else tool.needs_approval)
        if tool is not None and tool.asks_client:
            del self.fields["approval"]

    def _offer(self, name: str, declared: bool | None) -> None:
        suffix = "" if declared is None else f" ({_switch(declared)})"
        choices = [(_DECLARED, f"as declared{suffix}"), (_ON, "on"), (_OFF, "off")]
        self.fields[name].choices = choices  # type: ignore[attr-defined]

    @property
    def chosen_enabled(self) -> bool | None:
        return _STORED[self.cleaned_data["enabled"]]

    @property
    def chosen_approval(self) -> bool | None:
        if "approval" not in self.fields:
            return self.stored_approval
        return _STORED[self.cleaned_data["approval"]]


class AudienceSearch(forms.Form):
    """What a browser sends; anything else is the first page of everybody."""

    client = forms.CharField(required=False, max_length=100)
    p = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)

    def read(self) -> tuple[str, int]:
        self.is_valid()
        return self.cleaned_data.get("client") or "", self.cleaned_data.get("p") or 1


def _sources_for(request: HttpRequest) -> list[ToolAudienceSource]:
    sources = registries.tool_audiences.items()
    return [source for source, needed in sources if request.user.has_perm(needed)]


def _audience(
    row: _Row, sources: list[ToolAudienceSource], named: str, page: int
) -> list[ToolAudience]:
    """A page of those who may be given the tool, and one more where there is a next."""
    if row.managed is None:
        return []
    start = (page - 1) * PAGE_SIZE
    part = slice(start, start + PAGE_SIZE + 1)
    return [
        found
        for source in sources
        for found in source(row.managed, named=named, part=part)
    ]


# --- Pages ----------------------------------------------------------------------------


@admin.register(ToolSetting)
class ToolAdmin(SteadyAdmin[ToolSetting]):
    object_history_template = "agent_runs/tool_history.html"

    class Media:
        css = {"all": ["agent_runs/admin.css"]}

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> ToolSetting | None:
        """By the name, also for a tool without a row: Django's history asks for it."""
        row = next((row for row in _rows() if row.name == object_id), None)
        return row.setting if row else None

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        self._require_view(request)
        rows = list(_rows())
        context = {
            "installed": [row for row in rows if row.managed],
            "left_over": [row for row in rows if not row.managed],
        }
        return self._page(request, "agent_runs/tools.html", "Tools", context)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        self._require_view(request)
        name = unquote(object_id)
        row = next((row for row in _rows() if row.name == name), None)
        if row is None:
            raise Http404
        if request.method != "POST":
            return self._tool_page(request, row, ToolForm(row))
        form = ToolForm(row, request.POST)
        if not form.is_valid():
            return self._tool_page(request, row, form)
        self._save(request, row, form)
        return redirect(row.url)

    def _require_view(self, request: HttpRequest) -> None:
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied

    def _tool_page(
        self, request: HttpRequest, row: _Row, form: ToolForm
    ) -> HttpResponse:
        named, page = AudienceSearch(request.GET).read()
        sources = _sources_for(request)
        audience = _audience(row, sources, named, page)
        context = {
            "row": row,
            "form": form,
            "may_change": self.has_change_permission(request),
            "parameters": parameters(row.managed.tool.schema()) if row.managed else [],
            "waiting": _waiting_sentence(row.name),
            "may_see_audience": bool(row.managed and sources),
            "audience": audience[:PAGE_SIZE],
            "has_more": len(audience) > PAGE_SIZE,
            "named": named,
            "page": page,
        }
        return self._page(request, "agent_runs/tool.html", row.name, context)

    def _page(
        self, request: HttpRequest, template: str, title: str, context: dict[str, Any]
    ) -> HttpResponse:
        every = self.admin_site.each_context(request)
        own = {"opts": self.opts, "title": title, "media": self.media}
        request.current_app = self.admin_site.name
        return TemplateResponse(request, template, every | own | context)

    # --- Saving

    def _save(self, request: HttpRequest, row: _Row, form: ToolForm) -> None:
        if not self.has_change_permission(request):
            raise PermissionDenied
        losses = _losses(row, _sources_for(request)) if _switches_off(row, form) else []
        overrides.override(
            row.name,
            enabled=form.chosen_enabled,
            requires_approval=form.chosen_approval,
            user=request.user,
        )
        self._log(request, row.name, form)
        self.message_user(request, f"«{row.name}» was saved.", messages.SUCCESS)
        for sentence in losses:
            self.message_user(request, sentence, messages.WARNING)

    def _log(self, request: HttpRequest, name: str, form: ToolForm) -> None:
        """Under the tool's name, since a row comes and goes."""
        chosen = {"enabled": form.chosen_enabled, "approval": form.chosen_approval}
        told = (
            f"{what}: {'as declared' if value is None else _switch(value)}"
            for what, value in chosen.items()
        )
        LogEntry.objects.create(
            user_id=request.user.pk or 0,
            content_type=ContentType.objects.get_for_model(ToolSetting),
            object_id=name,
            object_repr=name,
            action_flag=CHANGE,
            change_message=f"Saved as {', '.join(told)}.",
        )


def _switches_off(row: _Row, form: ToolForm) -> bool:
    if row.managed is None or not row.managed.is_enabled:
        return False
    chosen = form.chosen_enabled
    declared = row.managed.declared.enabled_by_default
    return not (declared if chosen is None else chosen)


def _losses(row: _Row, sources: list[ToolAudienceSource]) -> list[str]:
    """What switching the tool off takes from others; asked while it is on.

    `sources` are those whose names this person may see.
    """
    if row.managed is None:
        return []
    every = (found for source in sources for found in source(row.managed))
    losing = [found for found in every if not found.problems]
    sentences = []
    if losing:
        skills = listed(dict.fromkeys(found.skill for found in losing))
        clients = listed(dict.fromkeys(found.who for found in losing))
        sentences.append(
            f"It is no longer offered to runs of the skills {skills} for {clients}."
        )
    return [*sentences, *filter(None, [_waiting_sentence(row.name)])]


def _waiting_sentence(name: str) -> str:
    count, may_be_more = overrides.waiting_with(name)
    if not count:
        return ""
    least = "At least " if may_be_more else ""
    runs = "1 waiting run was" if count == 1 else f"{count} waiting runs were"
    return f"{least}{runs} given this tool and will fail without it."
