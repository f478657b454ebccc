"""Tells a run's page which of its steps remote agents took (O2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import reverse

from a2a_client import conf
from a2a_client.models import RemoteCall
from agent_runs.registries import Handover

if TYPE_CHECKING:
    from uuid import UUID

_SEES_CALLS = "a2a_client.view_remotecall"
# A run has few rounds, each with a few calls.
_MOST = 100


def of_run(run_id: UUID, looker: Any) -> list[Handover]:
    """For whoever may see remote calls; nobody else is told the agents' names."""
    if not conf.is_enabled() or not looker.has_perm(_SEES_CALLS):
        return []
    calls = RemoteCall.objects.filter(run=run_id).order_by("created_at", "id")
    columns = calls.select_related("agent").only("state", "agent__name")
    return [_handover(call) for call in columns[:_MOST]]


def _handover(call: RemoteCall) -> Handover:
    url = reverse("admin:a2a_client_remotecall_change", args=[call.pk])
    return Handover(text=f"{call.agent}: {call.get_state_display()}", url=url)
