"""Where a client's writes go: a named space of drafts (T15)."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.db import models
from django.db.models import Q

from agent_runs.encryption import EncryptedTextField


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


class DraftKind(models.TextChoices):
    CREATE = "create", "New record"
    CHANGE = "change", "Change"


class DraftState(models.TextChoices):
    OPEN = "open", "Open"
    PUBLISHED = "published", "Published"
    DISCARDED = "discarded", "Discarded"


class Draft(models.Model):
    """A record as a run would have it; nothing of it is live until it is published.

    `values` and `before` are JSON objects: the fields that are written, as they are to
    be and as they were when the draft was made. `base_digest` is over the whole live
    record at that moment, and empty for a new one. Only `workspaces.py` writes here.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="drafts"
    )
    content_type = models.ForeignKey(
        ContentType, on_delete=models.PROTECT, related_name="+", verbose_name="model"
    )
    # The primary key as text; empty for a new record until it is published.
    object_id = models.CharField("record", max_length=255, blank=True)
    kind = models.CharField(max_length=8, choices=DraftKind)
    values = EncryptedTextField()
    before = EncryptedTextField()
    base_digest = models.CharField(max_length=64, blank=True)
    # A draft outlives its run; the purge empties the link.
    run = models.ForeignKey(
        "agent_runs.AgentRun",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="drafts",
    )
    state = models.CharField(max_length=12, choices=DraftState, default=DraftState.OPEN)
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
    )

    class Meta:
        permissions = [("publish_draft", "Can publish and discard drafts")]
        indexes = [
            models.Index(fields=["-created_at", "-id"], name="draft_newest"),
            models.Index(
                fields=["-created_at", "-id"],
                name="draft_open",
                condition=Q(state=DraftState.OPEN),
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=DraftState.values), name="draft_state_known"
            ),
            models.CheckConstraint(
                condition=Q(kind=DraftKind.CREATE, base_digest="")
                | Q(kind=DraftKind.CHANGE) & ~Q(base_digest="") & ~Q(object_id=""),
                name="draft_change_has_base",
            ),
            models.CheckConstraint(
                condition=Q(state=DraftState.OPEN, decided_at__isnull=True)
                | ~Q(state=DraftState.OPEN) & Q(decided_at__isnull=False),
                name="draft_decision_is_whole",
            ),
        ]

    def __str__(self) -> str:
        return f"Draft {str(self.id)[:8]}"
