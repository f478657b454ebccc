"""When a remote agent was last heard of; written at most once a minute."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from django.db import DatabaseError
from django.db.models import Q

from a2a_client.models import RemoteAgent
from agent_runs import clock

if TYPE_CHECKING:
    from a2a_client.audit import Audit

logger = logging.getLogger(__name__)

INTERVAL: Final = timedelta(minutes=1)


def heard(agent: RemoteAgent, *, audit: Audit) -> None:
    """Raises nothing: what the agent answered counts more than when."""
    try:
        now = clock.database_now()
        is_old = Q(last_contact_at=None) | Q(last_contact_at__lt=now - INTERVAL)
        RemoteAgent.objects.filter(is_old, pk=agent.pk).update(last_contact_at=now)
    except DatabaseError:
        logger.warning("contact not stored", extra=audit.facts(agent), exc_info=True)
