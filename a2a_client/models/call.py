"""One step that was handed to a remote agent, and what became of it (C5–C9).

Only `ledger.py` writes here: each change is an UPDATE whose WHERE repeats the expected
state, so that of two processes one wins.
"""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from a2a_client.models.agent import RemoteAgent
from agent_runs.encryption import EncryptedTextField
from agent_runs.models import AgentRun


class CallState(models.TextChoices):
    SENDING = "sending", "Sending"
    WORKING = "working", "The agent works"
    ASKING = "asking", "The agent asks"
    COMPLETED = "completed", "Completed"
    FAILED = "failed", "Failed at the agent"
    NOT_ACCEPTED = "not_accepted", "Not accepted"
    UNKNOWN = "unknown", "Outcome unknown"
    CANCELED = "canceled", "Canceled"
    EXPIRED = "expired", "Deadline passed"

    @property
    def is_active(self) -> bool:
        return self in ACTIVE_STATES


# These count against the agent's limit.
ACTIVE_STATES = frozenset({CallState.SENDING, CallState.WORKING, CallState.ASKING})


class Cancellation(models.TextChoices):
    NONE = "", "Not asked for"
    WANTED = "wanted", "To be sent"
    SENT = "sent", "Sent"
    FAILED = "failed", "Refused, or could not be sent"


class RemoteCall(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    agent = models.ForeignKey(
        RemoteAgent, on_delete=models.PROTECT, related_name="calls"
    )
    # The run that waits for it; none: a command or code made the call.
    run = models.ForeignKey(
        AgentRun,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="remote_calls",
    )
    # SHA-256 of the id that the model gave its tool call; empty without a run.
    call_key = models.CharField(max_length=64, blank=True)
    state = models.CharField(
        max_length=16, choices=CallState, default=CallState.SENDING
    )
    skill = models.CharField(max_length=200, blank=True)
    host = models.CharField(max_length=300)

    # The ids of the message that was sent last and of what the agent made of it. The
    # context's id is ours until the agent names another.
    message_id = models.CharField(max_length=64)
    context_id = models.CharField(max_length=500)
    remote_task_id = models.CharField(max_length=500, blank=True)
    remote_state = models.CharField(max_length=64, blank=True)

    # The task's text; what the agent answered or asked, as JSON of `stored.py`. What a
    # run has taken is kept as far as its answer level lets it.
    request = EncryptedTextField()
    result = EncryptedTextField(null=True)
    question = EncryptedTextField(null=True)
    # What the answer to the open question is kept under; a new one for every question,
    # and the last one's after its answer has left.
    question_key = models.CharField(max_length=64, blank=True)
    # The agent's own name for its question, where it gave one.
    remote_question_id = models.CharField(max_length=200, blank=True)

    # Why it did not end well: for the model and the client; a code; and for
    # administrators, what the agent wrote.
    code = models.CharField(max_length=64, blank=True)
    sentence = models.TextField(blank=True)
    detail = EncryptedTextField(null=True)
    # What an administrator found when they looked an unknown outcome up.
    found = models.TextField(blank=True)
    looked_up_at = models.DateTimeField(null=True, blank=True)

    # Contents are whole until its run has ended and its answer level was asked.
    is_to_be_reduced = models.BooleanField(default=False)
    polls = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField(null=True, blank=True)
    deadline_at = models.DateTimeField()
    cancellation = models.CharField(
        max_length=8, choices=Cancellation, default=Cancellation.NONE, blank=True
    )
    created_at = models.DateTimeField()
    state_changed_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = "remote call"
        indexes = [
            models.Index(
                fields=["due_at", "id"],
                name="remotecall_due",
                condition=Q(state=CallState.WORKING),
            ),
            models.Index(
                fields=["agent"],
                name="remotecall_active",
                condition=Q(state__in=sorted(ACTIVE_STATES)),
            ),
            models.Index(
                fields=["state_changed_at"],
                name="remotecall_to_cancel",
                condition=Q(cancellation=Cancellation.WANTED),
            ),
            models.Index(
                fields=["ended_at"],
                name="remotecall_to_reduce",
                condition=Q(is_to_be_reduced=True),
            ),
            models.Index(fields=["-created_at", "-id"], name="remotecall_newest"),
            models.Index(
                fields=["agent", "-created_at", "-id"], name="remotecall_of_agent"
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=CallState.values), name="remotecall_state_known"
            ),
            models.CheckConstraint(
                condition=Q(state__in=sorted(ACTIVE_STATES), ended_at__isnull=True)
                | ~Q(state__in=sorted(ACTIVE_STATES)) & Q(ended_at__isnull=False),
                name="remotecall_end_is_whole",
            ),
            models.UniqueConstraint(
                fields=["run", "call_key"],
                condition=Q(run__isnull=False),
                name="remotecall_once",
            ),
        ]

    def __str__(self) -> str:
        return f"Call {str(self.id)[:8]}"
