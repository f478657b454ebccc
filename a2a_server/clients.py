"""Finds the client that an operator means, by id or by name (S20, R18)."""

from __future__ import annotations

from typing import Any

from django.db.models import Q

from a2a_server.models import Client
from agent_runs.registries import NothingNamed

_MOST_DIGITS = 18  # more do not fit into the column


def named(text: str) -> Client:
    """Raise `NothingNamed`. A name is never all digits, so one text cannot mean two."""
    is_id = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    lookup: dict[str, Any] = {"id": int(text)} if is_id else {"name": text}
    client = Client.objects.filter(**lookup).first()
    if client is None:
        raise NothingNamed(f"There is no client «{text}».")
    return client


def runs_of(text: str) -> Q:
    """The runs of this client's tasks and trials, for `agent_purge --client`."""
    client = named(text)
    return Q(task__client=client) | Q(trial__client=client)
