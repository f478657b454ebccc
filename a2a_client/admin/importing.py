"""The page on which a card is imported and its interface's host is confirmed (C2).

Opening it sends nothing. «Fetch the card» looks and stores nothing; «Store it» fetches
again and stores only what is the same as what was looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path, reverse

from a2a_client import describing, importing
from a2a_client.admin import card_facts
from a2a_client.admin.role import WithRole
from a2a_client.fetching import CardError
from a2a_client.models import RemoteAgent
from agent_runs.admin.fields import cut
from agent_runs.admin.records import RecordAdmin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.http import HttpRequest, HttpResponse
    from django.urls import URLPattern

    from a2a_client.importing import Preview

_CHANGED = (
    "The card has changed since you looked at it. Nothing was stored; this is what it says "
    "now."
)


class ImportAdmin(WithRole, RecordAdmin[RemoteAgent]):
    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.import_view)
        name = "a2a_client_remoteagent_import"
        return [path("<path:object_id>/import/", view, name=name), *super().get_urls()]

    def import_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        if request.method not in {"GET", "HEAD", "POST"}:
            return HttpResponseNotAllowed(["GET", "HEAD", "POST"])
        agent = self.get_object(request, unquote(object_id))
        if not self.has_change_permission(request, agent):
            raise PermissionDenied
        if agent is None:
            return self._get_obj_does_not_exist_redirect(  # type: ignore[attr-defined, no-any-return]
                request, self.opts, object_id
            )
        if request.method != "POST":
            return self._import_page(request, agent)
        return self._do(request, agent)

    def _do(self, request: HttpRequest, agent: RemoteAgent) -> HttpResponse:
        steps = {
            "fetch": self._look,
            "store": self._store,
            "confirm": self._confirm,
            "forget": self._forget,
        }
        step = steps.get(request.POST.get("step", ""))
        if step is None:
            return self._import_page(request, agent)
        try:
            return step(request, agent)
        except CardError as error:
            self.message_user(request, str(error), messages.ERROR)
            return self._import_page(request, agent)
        except importing.Stale as stale:
            self.message_user(request, str(stale), messages.ERROR)
            return redirect(import_url(agent))

    # --- The steps

    def _look(self, request: HttpRequest, agent: RemoteAgent) -> HttpResponse:
        return self._import_page(request, agent, importing.preview(agent))

    def _store(self, request: HttpRequest, agent: RemoteAgent) -> HttpResponse:
        seen = importing.preview(agent)
        if seen.digest != request.POST.get("digest"):
            self.message_user(request, _CHANGED, messages.WARNING)
            return self._import_page(request, agent, seen)
        importing.store(agent, seen)
        told = ["Card imported.", *seen.differences]
        self.log_change(request, agent, cut(" ".join(told), 1000))
        self.message_user(request, "The card was stored.", messages.SUCCESS)
        if request.POST.get("confirm_origin") == seen.origin:
            self._confirm_origin(request, agent, seen.origin)
        if describing.wants_credential(agent, seen.security):
            self.message_user(request, _asks_for(seen.security), messages.WARNING)
        return self._next(request, agent)

    def _confirm(self, request: HttpRequest, agent: RemoteAgent) -> HttpResponse:
        self._confirm_origin(request, agent, request.POST.get("origin", ""))
        return self._next(request, agent)

    def _confirm_origin(
        self, request: HttpRequest, agent: RemoteAgent, origin: str
    ) -> None:
        importing.confirm_origin(agent, origin)
        sentence = f"Its interface may be at {origin}."
        self.log_change(request, agent, f"Confirmed: {sentence}")
        self.message_user(request, sentence, messages.SUCCESS)

    def _forget(self, request: HttpRequest, agent: RemoteAgent) -> HttpResponse:
        importing.forget_confirmation(agent)
        sentence = (
            "The confirmation was forgotten: nothing is sent to the agent until its "
            "interface's host is confirmed again."
        )
        self.log_change(
            request, agent, "Confirmation of its interface's host forgotten."
        )
        self.message_user(request, sentence, messages.WARNING)
        return redirect(import_url(agent))

    def _next(self, request: HttpRequest, agent: RemoteAgent) -> HttpResponse:
        """Back to the page where something is left to do, or on to the record."""
        if not agent.is_confirmed:
            return redirect(import_url(agent))
        if problem := agent.call_problem():
            self.message_user(request, f"What is left: {problem}", messages.WARNING)
        return redirect("admin:a2a_client_remoteagent_change", agent.pk)

    def _import_page(
        self, request: HttpRequest, agent: RemoteAgent, seen: Preview | None = None
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": f"Card of {agent}",
            "opts": self.opts,
            "agent": agent,
            "media": self.media,
            "stored": card_facts.of_stored(agent),
            "interface_origin": agent.interface_origin if agent.interface_url else "",
            "seen": seen,
            "seen_facts": card_facts.of_seen(seen) if seen else [],
            "seen_skills": card_facts.skills(seen.card) if seen else [],
            "seen_notes": card_facts.lines(seen.notes) if seen else [],
        }
        request.current_app = self.admin_site.name
        return TemplateResponse(request, "a2a_client/import.html", context)


def _asks_for(security: Sequence[str]) -> str:
    return (
        f"Its card asks for {'; or '.join(security)}: choose its credential and enter the "
        "secret."
    )


def import_url(agent: RemoteAgent) -> str:
    return reverse("admin:a2a_client_remoteagent_import", args=[agent.pk])


def left_to_import(agent: Any) -> str:
    """Why somebody who saved the agent should go there next; empty where nothing is."""
    if not agent.interface_url:
        return "Next, import its card."
    return "" if agent.is_confirmed else "Next, confirm where its interface may be."
