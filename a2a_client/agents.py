"""Finds remote agents by what operators call them."""

from __future__ import annotations

from a2a_client.models import RemoteAgent
from agent_runs.cleaning import clean_text
from agent_runs.registries import NothingNamed


def named(identifier: str) -> RemoteAgent:
    """Raises `NothingNamed` with a sentence."""
    # A database cannot be asked for every text, and no identifier needs cleaning.
    cleaned = clean_text(identifier)
    found = RemoteAgent.objects.filter(identifier=cleaned).first()
    if found is None:
        raise NothingNamed(
            f"There is no remote agent «{cleaned}». manage.py a2a_agent_import makes "
            "one of a card URL."
        )
    return found
