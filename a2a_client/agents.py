"""Finds remote agents by what operators call them."""

from __future__ import annotations

from a2a_client.models import RemoteAgent
from agent_runs.registries import NothingNamed


def named(identifier: str) -> RemoteAgent:
    """Raises `NothingNamed` with a sentence."""
    found = RemoteAgent.objects.filter(identifier=identifier).first()
    if found is None:
        raise NothingNamed(
            f"There is no remote agent «{identifier}». manage.py a2a_agent_import makes "
            "one of a card URL."
        )
    return found
