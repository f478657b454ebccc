"""What a client sees of its runs (S60–S65).

Written by `admission.py` (the first state) and `projection.py` (every later one),
read as text by the operations. A task's document is three JSON texts exactly as they are
sent: `head` (the task without the other two), `history` and `artifacts` (arrays with one
element a line, so that the last n are found without parsing).
"""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from a2a_server.models.client import Client
from a2a_server.models.profile import Profile
from agent_runs.encryption import EncryptedTextField
from agent_runs.models import AgentRun


class TaskState(models.TextChoices):
    SUBMITTED = "submitted", "Submitted"
    WORKING = "working", "Working"
    INPUT_REQUIRED = "input_required", "Input required"
    AUTH_REQUIRED = "auth_required", "Authorization required"
    COMPLETED = "completed", "Completed"
    FAILED = "failed", "Failed"
    CANCELED = "canceled", "Canceled"
    REJECTED = "rejected", "Rejected"


ACTIVE_STATES = (TaskState.SUBMITTED, TaskState.WORKING)
TERMINAL_STATES = (
    TaskState.COMPLETED,
    TaskState.FAILED,
    TaskState.CANCELED,
    TaskState.REJECTED,
)


class Task(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    client = models.ForeignKey(
        Client,
        on_delete=models.PROTECT,
        related_name="tasks",
        # As below: an index that begins with the column serves for it alone.
        db_index=False,
    )
    profile = models.ForeignKey(Profile, on_delete=models.PROTECT, related_name="tasks")
    # The purge deletes runs, and a task goes with its run (R18).
    run = models.OneToOneField(AgentRun, on_delete=models.CASCADE, related_name="task")
    context_id = models.CharField(max_length=128)
    state = models.CharField(
        max_length=16, choices=TaskState, default=TaskState.SUBMITTED
    )
    status_at = models.DateTimeField()
    created_at = models.DateTimeField()
    head = EncryptedTextField()
    history = EncryptedTextField()
    artifacts = EncryptedTextField(null=True)
    # Set when the handler answered with a plain message: its JSON text (S62).
    reply = EncryptedTextField(null=True)
    events_written = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name = "task"
        indexes = [
            models.Index(fields=["client", "-status_at", "-id"], name="task_newest"),
            models.Index(
                fields=["client", "state", "-status_at", "-id"], name="task_by_state"
            ),
            models.Index(
                fields=["client", "context_id", "-status_at", "-id"],
                name="task_by_context",
            ),
            models.Index(
                fields=["client"],
                name="task_active_by_client",
                condition=Q(state__in=["submitted", "working"]),
            ),
            models.Index(
                fields=["profile"],
                name="task_active_by_profile",
                condition=Q(state__in=["submitted", "working"]),
            ),
            models.Index(fields=["-status_at", "-id"], name="task_newest_of_all"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=TaskState.values), name="task_state_known"
            ),
        ]

    def __str__(self) -> str:
        return f"Task {self.id}"


class TaskMessage(models.Model):
    """A message id this client used, and what stood behind it (S47)."""

    client = models.ForeignKey(
        Client, on_delete=models.PROTECT, related_name="messages", db_index=False
    )
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="messages")
    dedupe_key = models.CharField(max_length=255, null=True)  # noqa: DJ001
    # HMAC of the content, so that a repeat with other content can be noticed.
    fingerprint = models.CharField(max_length=64)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name = "message"
        constraints = [
            # Null keys do not collide: they are the switched-off deduplication.
            models.UniqueConstraint(
                fields=["client", "dedupe_key"], name="taskmessage_dedupe_key_once"
            )
        ]

    def __str__(self) -> str:
        return f"Message of {self.task_id}"


class TaskEvent(models.Model):
    """One StreamResponse of the task's life, as JSON text, numbered from 1."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    task = models.ForeignKey(
        Task, on_delete=models.CASCADE, related_name="events", db_index=False
    )
    sequence = models.PositiveIntegerField()
    payload = EncryptedTextField()
    created_at = models.DateTimeField()

    class Meta:
        verbose_name = "task event"
        constraints = [
            models.UniqueConstraint(
                fields=["task", "sequence"], name="taskevent_sequence_once"
            )
        ]

    def __str__(self) -> str:
        return f"Event {self.sequence} of {self.task_id}"


class TaskCounter(models.Model):
    """How many tasks of a client are in a state; moved with the state (S65)."""

    client = models.ForeignKey(
        Client,
        on_delete=models.CASCADE,
        related_name="task_counters",
        db_index=False,
    )
    state = models.CharField(max_length=16, choices=TaskState)
    count = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["client", "state"], name="taskcounter_once")
        ]

    def __str__(self) -> str:
        return f"{self.client_id} {self.state}: {self.count}"
