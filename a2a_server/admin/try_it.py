"""«Try it»: the button on a profile's page, and the page behind it (O2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path, reverse

from a2a_server import trials
from a2a_server.models import Client, Profile
from agent_runs import clock, workers
from agent_runs.admin.records import RecordAdmin

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse
    from django.urls import URLPattern

_LONGEST_TEXT = 100_000
_SEES_RUNS = "agent_runs.view_agentrun"
_NOBODY_WORKS = "No worker runs at the moment: the run waits until one does."


class TryForm(forms.Form):
    client = forms.ModelChoiceField(
        queryset=Client.objects.none(),
        help_text="Its technical user, workspace and tools count.",
    )
    text = forms.CharField(
        max_length=_LONGEST_TEXT,
        widget=forms.Textarea(
            attrs={"rows": 8, "cols": 80, "class": "vLargeTextField"}
        ),
        help_text="What the client would send.",
    )

    def __init__(self, *args: Any, profile: Profile, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["client"].queryset = trials.clients_of(profile)  # type: ignore[attr-defined]

    def clean_text(self) -> str:
        """A browser sends line breaks of its own."""
        return str(self.cleaned_data["text"]).replace("\r\n", "\n")


class TryAdmin(RecordAdmin[Profile]):
    change_form_template = "a2a_server/profile.html"

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.try_view)
        name = "a2a_server_profile_try"
        return [path("<path:object_id>/try/", view, name=name), *super().get_urls()]

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, **options: Any
    ) -> HttpResponse:
        profile = options.get("obj")
        if profile is not None and trials.may_try(request.user):
            context["try_url"] = _try_url(profile)
        return super().render_change_form(request, context, *args, **options)

    def try_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        if request.method not in {"GET", "HEAD", "POST"}:
            return HttpResponseNotAllowed(["GET", "HEAD", "POST"])
        profile = self.get_object(request, unquote(object_id))
        is_allowed = self.has_view_permission(request, profile)
        if not is_allowed or not trials.may_try(request.user):
            raise PermissionDenied
        if profile is None:
            return self._get_obj_does_not_exist_redirect(  # type: ignore[attr-defined, no-any-return]
                request, self.opts, object_id
            )
        form = _form(request, profile)
        run_id = self._start(request, profile, form) if form.is_valid() else None
        if run_id is None:
            return self._try_page(request, profile, form)
        return redirect(_page_of(run_id, profile, request))

    def _start(
        self, request: HttpRequest, profile: Profile, form: TryForm
    ) -> UUID | None:
        """None where it was refused: the form says why."""
        client, text = form.cleaned_data["client"], form.cleaned_data["text"]
        try:
            run_id = trials.start(profile, client, text, starter=_person(request))
        except trials.TrialRefused as refused:
            form.add_error(None, str(refused))
            return None
        self.log_change(request, profile, f"Tried as «{client}»: run {run_id}.")
        self.message_user(
            request, f"Run {run_id} was started as «{client}».", messages.SUCCESS
        )
        if not _has_worker():
            self.message_user(request, _NOBODY_WORKS, messages.WARNING)
        return run_id

    def _try_page(
        self, request: HttpRequest, profile: Profile, form: TryForm
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": f"Try {profile}",
            "opts": self.opts,
            "profile": profile,
            "form": form,
            "media": self.media,
            "has_clients": trials.clients_of(profile).exists(),
            "warning": "" if _has_worker() else _NOBODY_WORKS,
        }
        return TemplateResponse(request, "a2a_server/try_it.html", context)


def _form(request: HttpRequest, profile: Profile) -> TryForm:
    if request.method == "POST":
        return TryForm(request.POST, profile=profile)
    return TryForm(profile=profile, initial={"text": _example(profile)})


def _example(profile: Profile) -> str:
    examples = profile.examples
    return str(examples[0]) if isinstance(examples, list) and examples else ""


def _person(request: HttpRequest) -> Any:
    return request.user


def _has_worker() -> bool:
    return workers.is_worker_available(clock.database_now())


def _try_url(profile: Profile) -> str:
    return reverse("admin:a2a_server_profile_try", args=[profile.pk])


def _page_of(run_id: UUID, profile: Profile, request: HttpRequest) -> str:
    """The run's own, for whoever may see runs."""
    if request.user.has_perm(_SEES_RUNS):
        return reverse("admin:agent_runs_agentrun_change", args=[run_id])
    return _try_url(profile)
