"""Tells operators which client a run works for, and by which skill (O2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_server.models import Task, Trial
from agent_runs.registries import RunDescription

if TYPE_CHECKING:
    from collections.abc import Collection
    from uuid import UUID


def of_runs(run_ids: Collection[UUID]) -> dict[UUID, RunDescription]:
    """Of those that a client's message or a trial began; one query."""
    columns = ("run_id", "client__name", "profile__name")
    tasks = Task.objects.filter(run__in=run_ids).values_list(*columns)
    trials = Trial.objects.filter(run__in=run_ids).values_list(*columns)
    found = tasks.union(trials, all=True)
    return {
        run_id: RunDescription(asker=client, skill=skill)
        for run_id, client, skill in found
    }
