"""As which client and with which skill somebody tried something (O2)."""

from __future__ import annotations

from django.db import models

from a2a_server.models.client import Client
from a2a_server.models.profile import Profile
from agent_runs.models import AgentRun


class Trial(models.Model):
    """Of a run that has no task, what every segment of it is judged by (S73).

    Who started it is the run's starter.
    """

    # The purge deletes runs, and this goes with its run.
    run = models.OneToOneField(
        AgentRun, on_delete=models.CASCADE, primary_key=True, related_name="trial"
    )
    client = models.ForeignKey(Client, on_delete=models.PROTECT, related_name="trials")
    profile = models.ForeignKey(
        Profile, on_delete=models.PROTECT, related_name="trials"
    )

    class Meta:
        verbose_name = "trial"

    def __str__(self) -> str:
        return f"Trial of «{self.profile}» as «{self.client}»"
