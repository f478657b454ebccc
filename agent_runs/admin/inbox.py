"""The inbox: runs that wait for a person, and a card for each (T11, T12, S74, R20).

Whoever may log in here sees what they may decide about: everybody their own runs, and
those with the permission all of them. A run of somebody else reads as one that does not
exist.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.admin.utils import unquote
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import DateTimeField, Value
from django.http import Http404
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.timesince import timesince

from agent_runs import clock, deciding, redaction
from agent_runs.admin.awaited import (
    UNREADABLE,
    awaited,
    card_url,
    described,
    plainly,
    sentence,
)
from agent_runs.admin.fields import opened
from agent_runs.admin.history import HandlerFilter, HistoryAdmin, handler_label
from agent_runs.admin.question_form import QuestionForm
from agent_runs.contents import ContentsError, load_input
from agent_runs.deciding import NotAllowed, NotWaiting, SomethingElse
from agent_runs.models import AgentRun, RunState, WaitingRun
from agent_runs.models.run import WAITING_FOR_PEOPLE
from agent_runs.questions import BadAnswer
from agent_runs.waiting import OpenApproval

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.db.models import QuerySet
    from django.http import HttpRequest, HttpResponse
    from django.urls import URLPattern

    from agent_runs.waiting import ForPeople, OpenQuestion, ShownCall

INBOX = "admin:agent_runs_waitingrun_changelist"
MOST_COUNTED = 100
_UNREAD = ("checkpoint", "pending", "result")
_VERDICTS = {"approve": True, "deny": False}
_DECIDED = "It was decided already, or the run ended. Nothing was changed."
_SOMETHING_ELSE = (
    "The run waits for something else now; this is it. Nothing was changed."
)


# --- The list -------------------------------------------------------------------------


class KindFilter(admin.SimpleListFilter):
    title = "what is wanted"
    parameter_name = "wanted"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            (RunState.WAITING_FOR_APPROVAL.value, "An approval"),
            (RunState.WAITING_FOR_INPUT.value, "An answer"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        known = dict(self.lookup_choices)
        return (
            queryset.filter(state=self.value()) if self.value() in known else queryset
        )


@admin.register(WaitingRun)
class InboxAdmin(HistoryAdmin[WaitingRun]):
    change_list_template = "agent_runs/inbox.html"
    list_display = ("what", "asker", "skill", "since", "handler_shown", "short_id")
    list_filter = (KindFilter, HandlerFilter)
    list_select_related = ("owner", "starter")
    # What waits longest comes first.
    ordering = ("state_changed_at", "id")
    search_help_text = "The id of a run, or at least its first four characters."
    empty_list_hint = (
        "Nothing waits for you. A run comes here when one of its tools needs approval, or "
        "when it asks a question."
    )

    def get_urls(self) -> list[URLPattern]:
        pages = [
            path("", self.changelist_view, name="agent_runs_waitingrun_changelist"),
            path(
                "<path:object_id>/change/",
                self.card_view,
                name="agent_runs_waitingrun_change",
            ),
        ]
        for page in pages:
            page.callback = self.admin_site.admin_view(page.callback)
        return pages

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.admin_site.has_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.admin_site.has_permission(request)

    def get_queryset(self, request: HttpRequest) -> QuerySet[WaitingRun]:
        now = Value(clock.database_now(), output_field=DateTimeField())
        return _theirs(request, super().get_queryset(request)).annotate(now=now)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        page = super().get_changelist_instance(request)
        rows: list[Any] = list(page.result_list)
        descriptions = described(rows)
        for row in rows:
            row.description = descriptions[row.pk]
        page.result_list = rows
        return page

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> Any:
        waiting = _theirs(request, WaitingRun.objects.all())
        count = waiting.order_by().values("pk")[: MOST_COUNTED + 1].count()
        context = {"title": "Inbox", "subtitle": _counted(count)}
        return super().changelist_view(request, context | (extra_context or {}))

    @admin.display(description="what is wanted")
    def what(self, run: WaitingRun) -> str:
        return sentence(run)

    @admin.display(description="who asked")
    def asker(self, run: Any) -> str:
        return str(run.description.asker)

    @admin.display(description="skill")
    def skill(self, run: Any) -> str:
        return str(run.description.skill)

    @admin.display(description="waits since")
    def since(self, run: Any) -> str:
        return timesince(run.state_changed_at, run.now)

    @admin.display(description="domain handler")
    def handler_shown(self, run: WaitingRun) -> str:
        return handler_label(run.handler)

    # --- The card ---------------------------------------------------------------------

    def card_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        run = _run_of(request, unquote(object_id))
        if run.state not in WAITING_FOR_PEOPLE:
            return self._back(request, _DECIDED)
        shown = awaited(run)
        if request.method == "POST" and shown is not None:
            return self._told(request, run, shown)
        return self._card(request, run, shown)

    def _told(
        self, request: HttpRequest, run: AgentRun, shown: ForPeople
    ) -> HttpResponse:
        """What somebody says about what they saw, which may be decided by now."""
        try:
            if request.POST.get("waiting_id") != shown.id:
                raise SomethingElse
            if isinstance(shown, OpenApproval):
                return self._judge(request, run, shown)
            return self._answer(request, run, shown)
        except SomethingElse:
            self.message_user(request, _SOMETHING_ELSE, messages.WARNING)
        except NotWaiting:
            return self._back(request, _DECIDED)
        except NotAllowed as refusal:
            self.message_user(request, str(refusal), messages.ERROR)
        return redirect(card_url(run))

    def _judge(
        self, request: HttpRequest, run: AgentRun, shown: OpenApproval
    ) -> HttpResponse:
        approve = _VERDICTS.get(request.POST.get("verdict", ""))
        if approve is None:
            raise NotAllowed("Press «Approve» or «Deny».")
        with transaction.atomic():
            deciding.decide(run.pk, shown.id, approve=approve, user=_person(request))
            _log(request, run, "Approved." if approve else "Denied.")
        if approve:
            return self._back(request, "Approved. The run goes on.", messages.SUCCESS)
        told = "Denied. The run is told, and may go on without it."
        return self._back(request, told, messages.SUCCESS)

    def _answer(
        self, request: HttpRequest, run: AgentRun, shown: OpenQuestion
    ) -> HttpResponse:
        form = QuestionForm(shown.question, request.POST)
        if not form.is_valid():
            return self._card(request, run, shown, form)
        try:
            with transaction.atomic():
                deciding.answer_as(
                    _person(request), run.pk, form.values, question_id=shown.id
                )
                _log(request, run, "Answered.")
        except BadAnswer as refusal:
            form.add_error(None, str(refusal))
            return self._card(request, run, shown, form)
        return self._back(request, "Answered. The run goes on.", messages.SUCCESS)

    def _back(
        self, request: HttpRequest, told: str, level: int = messages.WARNING
    ) -> HttpResponse:
        self.message_user(request, told, level)
        return redirect(reverse(INBOX))

    def _card(
        self,
        request: HttpRequest,
        run: AgentRun,
        shown: ForPeople | None,
        form: QuestionForm | None = None,
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "media": self.media,
            "run": run,
            "run_url": _run_url(request, run),
            "description": described([run])[run.pk],
            "handler": handler_label(run.handler),
            "asked": _asked(run),
            "waiting": shown,
            **_about(request, run, shown, form),
        }
        return TemplateResponse(request, "agent_runs/card.html", context)


def _counted(count: int) -> str:
    if count > MOST_COUNTED:
        return f"more than {MOST_COUNTED} runs wait"
    return "1 run waits" if count == 1 else f"{count or 'no'} runs wait"


# --- Whose ----------------------------------------------------------------------------


def _theirs(request: HttpRequest, runs: QuerySet[WaitingRun]) -> QuerySet[WaitingRun]:
    waiting = runs.filter(state__in=sorted(WAITING_FOR_PEOPLE))
    return waiting.filter(deciding.decidable_by(_person(request))).defer(
        "request", *_UNREAD
    )


def _run_of(request: HttpRequest, key: str) -> AgentRun:
    """A run that this person may decide about, whatever its state, or 404 (R20)."""
    try:
        run_id = UUID(key)
    except ValueError:
        raise Http404 from None
    related = "configuration__provider", "owner", "starter", "workspace"
    theirs = AgentRun.objects.filter(deciding.decidable_by(_person(request)))
    run = theirs.select_related(*related).defer(*_UNREAD).filter(pk=run_id).first()
    if run is None:
        raise Http404
    return run


def _person(request: HttpRequest) -> AbstractBaseUser:
    if not isinstance(request.user, AbstractBaseUser):
        raise PermissionDenied
    return request.user


def _log(request: HttpRequest, run: AgentRun, told: str) -> None:
    LogEntry.objects.log_actions(
        user_id=request.user.pk or 0,
        queryset=[run],
        action_flag=CHANGE,
        change_message=told,
    )


# --- What a card says -----------------------------------------------------------------


def _run_url(request: HttpRequest, run: AgentRun) -> str:
    if not request.user.has_perm("agent_runs.view_agentrun"):
        return ""
    return reverse("admin:agent_runs_agentrun_change", args=[run.pk])


def _asked(run: AgentRun) -> str:
    """The beginning of what was asked for, as far as the answer level lets it (R16)."""
    try:
        text = load_input(opened(run, "request") or "").text
    except (ContentsError, ValueError, KeyError, TypeError):
        return ""
    kept = redaction.event_content(run.current_level, text)
    return plainly(redaction.cut(kept)) if kept else ""


def _about(
    request: HttpRequest,
    run: AgentRun,
    shown: ForPeople | None,
    form: QuestionForm | None,
) -> dict[str, Any]:
    if shown is None:
        return {"title": "Waiting run", "unreadable": UNREADABLE}
    if isinstance(shown, OpenApproval):
        return {
            "title": "Approval",
            "calls": list(_calls(shown.calls)),
            "problem": deciding.approval_problem(run, shown, _person(request)),
        }
    return {
        "title": "Question",
        "question": shown.question,
        "tool": shown.tool,
        "form": form or QuestionForm(shown.question),
    }


def _calls(calls: Iterable[ShownCall]) -> Iterable[dict[str, str]]:
    for call in calls:
        yield {
            "tool": call.tool,
            "arguments": plainly(_pretty(call.arguments)),
            "preview": plainly(call.preview),
        }


def _pretty(arguments: str) -> str:
    """The whole of it, over several lines where it is JSON."""
    try:
        return json.dumps(json.loads(arguments), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return arguments
