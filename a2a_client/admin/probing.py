"""The button «Probe» on an agent's page: asks it something harmless, once (C3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponseNotAllowed
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse

from a2a_client import probing
from a2a_client.admin.importing import ImportAdmin
from a2a_client.models import RemoteAgent
from agent_runs.admin.fields import cut

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse
    from django.urls import URLPattern

_NAME = "a2a_client_remoteagent_probe"


class ProbeAdmin(ImportAdmin):
    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.probe_view)
        return [path("<path:object_id>/probe/", view, name=_NAME), *super().get_urls()]

    def probe_url(self, request: HttpRequest, agent: RemoteAgent) -> str:
        """Empty where this person may not, or where there is nothing to ask yet."""
        if not self.may_call(request) or not agent.interface_url:
            return ""
        return reverse(f"admin:{_NAME}", args=[agent.pk])

    def probe_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        agent = self.get_object(request, unquote(object_id))
        is_allowed = self.has_view_permission(request, agent)
        if not is_allowed or not self.may_call(request):
            raise PermissionDenied
        if agent is None:
            raise Http404
        self._probe(request, agent)
        return redirect("admin:a2a_client_remoteagent_change", agent.pk)

    def _probe(self, request: HttpRequest, agent: RemoteAgent) -> None:
        # What the list leaves out of an agent is needed to ask it.
        probed = probing.probe(get_object_or_404(RemoteAgent, pk=agent.pk))
        self.log_change(request, agent, f"Probed. {cut(probed.sentence, 500)}")
        level = messages.SUCCESS if probed.is_good else messages.ERROR
        self.message_user(request, probed.sentence, level)
        if probed.detail:
            self.message_user(request, cut(probed.detail, 500), messages.WARNING)
