"""The action «cancel», for pages whose rows are runs or belong to one (R14, R20).

Whoever may see a row may cancel it with the permission, or when the run is their own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.urls import path, reverse

from agent_runs import lifecycle
from agent_runs.admin.history import HistoryAdmin
from agent_runs.admin.typed import M
from agent_runs.models import AgentRun, RunState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.db.models import Model, QuerySet
    from django.http import HttpRequest, HttpResponse
    from django.urls import URLPattern

PERMISSION = "agent_runs.cancel_run"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    singular: str
    plural: str
    level: int

    def sentence(self, count: int, model: type[Model]) -> str:
        opts = model._meta
        if count == 1:
            return self.singular.format(f"1 {opts.verbose_name}")
        return self.plural.format(f"{count} {opts.verbose_name_plural}")


_CANCELED = _Outcome(
    singular="{} was canceled.", plural="{} were canceled.", level=messages.SUCCESS
)
_ENDED = _Outcome(
    singular="{} had ended already.",
    plural="{} had ended already.",
    level=messages.WARNING,
)
_FOREIGN = _Outcome(
    singular="{} is not yours to cancel.",
    plural="{} are not yours to cancel.",
    level=messages.ERROR,
)


class CancelAdmin(HistoryAdmin[M]):
    actions = ["cancel_selected"]
    change_form_template = "agent_runs/cancelable.html"

    def run_of(self, row: M) -> AgentRun:
        """The run of a row that `rows_with_runs` or `get_object` read."""
        raise NotImplementedError

    def rows_with_runs(self, rows: QuerySet[M]) -> QuerySet[M]:
        """The same rows, read so that `run_of` asks nothing more."""
        raise NotImplementedError

    @admin.action(description="Cancel selected %(verbose_name_plural)s")
    def cancel_selected(self, request: HttpRequest, queryset: QuerySet[M]) -> None:
        self._cancel(request, self.rows_with_runs(queryset))

    def cancel_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        row = self.get_object(request, unquote(object_id))
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        if row is None:
            raise Http404
        self._cancel(request, [row])
        return redirect(reverse(self._url_name("change"), args=[row.pk]))

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.cancel_view)
        name = self._url_name("cancel").removeprefix("admin:")
        return [path("<path:object_id>/cancel/", view, name=name), *super().get_urls()]

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, **options: Any
    ) -> HttpResponse:
        row = options.get("obj")
        context["cancel_url"] = ""
        if row is not None and self._refusal(request, self.run_of(row)) is None:
            context["cancel_url"] = reverse(self._url_name("cancel"), args=[row.pk])
        return super().render_change_form(request, context, *args, **options)

    def _url_name(self, page: str) -> str:
        return f"admin:{self.opts.app_label}_{self.opts.model_name}_{page}"

    def _cancel(self, request: HttpRequest, rows: Iterable[M]) -> None:
        outcomes: Counter[_Outcome] = Counter()
        canceled = []
        for row in rows:
            run = self.run_of(row)
            outcome = self._refusal(request, run)
            if outcome is None:
                outcome = _CANCELED if lifecycle.cancel(run.pk) else _ENDED
            if outcome is _CANCELED:
                canceled.append(row)
            outcomes[outcome] += 1
        self._log(request, canceled)
        for outcome, count in outcomes.items():
            sentence = outcome.sentence(count, self.model)
            self.message_user(request, sentence, outcome.level)

    def _refusal(self, request: HttpRequest, run: AgentRun) -> _Outcome | None:
        user = request.user
        if not user.has_perm(PERMISSION) and run.owner_id != user.pk:
            return _FOREIGN
        return _ENDED if RunState(run.state).is_terminal else None

    def _log(self, request: HttpRequest, rows: list[M]) -> None:
        if rows:
            LogEntry.objects.log_actions(
                user_id=request.user.pk or 0,
                queryset=rows,
                action_flag=CHANGE,
                change_message="Canceled.",
            )
