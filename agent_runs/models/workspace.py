"""Where a client's writes go: a named space of drafts (T15)."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Workspace(models.Model):
    name = models.CharField(max_length=100, unique=True)
    description = models.TextField(blank=True)
    members = models.ManyToManyField(
        settings.AUTH_USER_MODEL,
        blank=True,
        related_name="workspaces",
        help_text="People who look after what is written here.",
    )

    def __str__(self) -> str:
        return self.name
