"""What was handed to remote agents and what became of it: history, with one button.

Who may see a call sees its states and times. What was said in it is for those who may see
what is said in runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.utils import flatten_fieldsets, unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponseNotAllowed
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.utils.html import format_html

from a2a_client import looking_up, stored
from a2a_client.admin.role import WithRole
from a2a_client.models import CallState, RemoteAgent, RemoteCall
from agent_runs.admin.fields import NOTHING, cut, opened, preformatted, spent
from agent_runs.admin.history import HistoryAdmin
from agent_runs.contents import ContentsError

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest, HttpResponse
    from django.urls import URLPattern
    from django.utils.safestring import SafeString

SEES_RUNS = "agent_runs.view_agentrun"
_ENCRYPTED = ("request", "result", "question", "detail")
_CONTENTS = "What was said"


class AgentFilter(admin.SimpleListFilter):
    title = "agent"
    parameter_name = "agent"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        names = RemoteAgent.objects.order_by("name").values_list("pk", "name")
        return [(str(pk), name) for pk, name in names]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        known = dict(self.lookup_choices)
        return (
            queryset.filter(agent=self.value()) if self.value() in known else queryset
        )


@admin.register(RemoteCall)
class RemoteCallAdmin(WithRole, HistoryAdmin[RemoteCall]):
    change_form_template = "a2a_client/remote_call.html"
    list_display = (
        "short_id",
        "outcome",
        "agent",
        "skill_shown",
        "run_linked",
        "created_at",
        "took",
    )
    list_filter = ("state", AgentFilter, "created_at")
    ordering = ("-created_at", "-id")
    empty_list_hint = (
        "No call yet. A run makes one when its model hands a step to a remote agent; so "
        "does «manage.py a2a_agent_call»."
    )
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "id",
                    "agent",
                    "state_shown",
                    "sentence",
                    "code",
                    "skill_shown",
                    "run_linked",
                )
            },
        ),
        ("Looked up", {"fields": ("found", "looked_up_at")}),
        (
            _CONTENTS,
            {
                "fields": (
                    "request_shown",
                    "question_shown",
                    "answer_shown",
                    "detail_shown",
                )
            },
        ),
        (
            "At the agent",
            {
                "fields": (
                    "host",
                    "task_shown",
                    "context_shown",
                    "remote_state",
                    "polls",
                    "cancellation",
                )
            },
        ),
        (
            "Times",
            {
                "fields": (
                    "created_at",
                    "state_changed_at",
                    "due_at",
                    "deadline_at",
                    "ended_at",
                    "took",
                )
            },
        ),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[RemoteCall]:
        calls = super().get_queryset(request).select_related("agent")
        # A card may be a megabyte, and nothing here is read of it.
        return calls.defer(*_ENCRYPTED, "agent__card")

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        return _for(request, super().get_list_display(request))

    def get_fieldsets(self, request: HttpRequest, obj: RemoteCall | None = None) -> Any:
        sees_runs = request.user.has_perm(SEES_RUNS)
        return [
            (title, {"fields": _for(request, options["fields"])})
            for title, options in self.fieldsets
            if sees_runs or title != _CONTENTS
        ]

    def get_readonly_fields(
        self, request: HttpRequest, obj: RemoteCall | None = None
    ) -> list[str]:
        return [*map(str, flatten_fieldsets(self.fieldsets)), "run_id_shown"]

    # --- Looking up

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.look_up_view)
        name = "a2a_client_remotecall_look_up"
        return [path("<path:object_id>/look-up/", view, name=name), *super().get_urls()]

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, **options: Any
    ) -> HttpResponse:
        call = options.get("obj")
        context["look_up_url"] = ""
        if call is not None and self.may_call(request) and _can_be_looked_up(call):
            name = "admin:a2a_client_remotecall_look_up"
            context["look_up_url"] = reverse(name, args=[call.pk])
        return super().render_change_form(request, context, *args, **options)

    def look_up_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        call = self.get_object(request, unquote(object_id))
        is_allowed = self.has_view_permission(request, call)
        if not is_allowed or not self.may_call(request):
            raise PermissionDenied
        if call is None:
            raise Http404
        if _can_be_looked_up(call):
            self._look_up(request, call)
        return redirect("admin:a2a_client_remotecall_change", call.pk)

    def _look_up(self, request: HttpRequest, shown: RemoteCall) -> None:
        # What a page leaves out of the agent is needed to ask it.
        whole = RemoteCall.objects.select_related("agent")
        call = get_object_or_404(whole, pk=shown.pk)
        sentence = looking_up.look_up(call)
        self.log_change(request, call, f"Looked up. {cut(sentence, 200)}")
        told_something = call.found == sentence
        level = messages.SUCCESS if told_something else messages.WARNING
        self.message_user(request, sentence, level)

    # --- Cells

    @admin.display(description="state", ordering="state")
    def outcome(self, call: RemoteCall) -> str:
        """With the code where it tells more than the state."""
        state = call.get_state_display()
        return f"{state} ({call.code})" if call.code else state

    @admin.display(description="state")
    def state_shown(self, call: RemoteCall) -> str:
        if call.state != CallState.UNKNOWN:
            return call.get_state_display()
        return f"{call.get_state_display()}. The message is not sent again."

    @admin.display(description="skill")
    def skill_shown(self, call: RemoteCall) -> str:
        return cut(call.skill, 60) or NOTHING

    @admin.display(description="run")
    def run_linked(self, call: RemoteCall) -> SafeString | str:
        if call.run_id is None:
            return NOTHING
        url = reverse("admin:agent_runs_agentrun_change", args=[call.run_id])
        return format_html('<a href="{}">{}</a>', url, str(call.run_id)[:8])

    @admin.display(description="run")
    def run_id_shown(self, call: RemoteCall) -> str:
        return str(call.run_id)[:8] if call.run_id else NOTHING

    @admin.display(description="took")
    def took(self, call: RemoteCall) -> str:
        if call.ended_at is None:
            return NOTHING
        return spent((call.ended_at - call.created_at).total_seconds())

    @admin.display(description="task id")
    def task_shown(self, call: RemoteCall) -> SafeString | str:
        return preformatted(call.remote_task_id) if call.remote_task_id else NOTHING

    @admin.display(description="context id")
    def context_shown(self, call: RemoteCall) -> SafeString:
        return preformatted(call.context_id)

    @admin.display(description="what was handed over")
    def request_shown(self, call: RemoteCall) -> SafeString | str:
        return _text(call, "request")

    @admin.display(description="its answer")
    def answer_shown(self, call: RemoteCall) -> SafeString | str:
        return _text(call, "result")

    @admin.display(description="its open question")
    def question_shown(self, call: RemoteCall) -> SafeString | str:
        text = opened(call, "question")
        if not text:
            return NOTHING
        try:
            question = stored.load_question(text)
        except ContentsError:
            return "Stored in a form that this release cannot show."
        told = (question.text, question.details, question.expected())
        return preformatted("\n\n".join(filter(None, told)))

    @admin.display(description="for administrators")
    def detail_shown(self, call: RemoteCall) -> SafeString | str:
        return _text(call, "detail")


def _for(request: HttpRequest, names: Any) -> list[Any]:
    """A link to the run for those only who may open it."""
    if request.user.has_perm(SEES_RUNS):
        return list(names)
    return ["run_id_shown" if name == "run_linked" else name for name in names]


def _can_be_looked_up(call: RemoteCall) -> bool:
    return call.state == CallState.UNKNOWN or bool(call.remote_task_id)


def _text(call: RemoteCall, name: str) -> SafeString | str:
    text = opened(call, name)
    return preformatted(text) if text else NOTHING
