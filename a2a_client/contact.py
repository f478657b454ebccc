"""When a remote agent was last heard of; written at most once a minute."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from django.db.models import Q

from a2a_client.models import RemoteAgent
from agent_runs import clock

INTERVAL: Final = timedelta(minutes=1)


def heard(agent: RemoteAgent) -> None:
    now = clock.database_now()
    is_old = Q(last_contact_at=None) | Q(last_contact_at__lt=now - INTERVAL)
    RemoteAgent.objects.filter(is_old, pk=agent.pk).update(last_contact_at=now)
