"""The ledger: one row per run, one row per thing that happened in it (R1, R15).

Nothing here moves a run. `lifecycle.py` is the only writer of `state` and of the columns
that a move touches; a plain `save()` on a run is a mistake.
"""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from agent_runs.encryption import EncryptedTextField
from agent_runs.models.llm import AnswerLevel, LLMConfiguration, stricter
from agent_runs.models.workspace import Workspace


class RunState(models.TextChoices):
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    WAITING_FOR_APPROVAL = "waiting_for_approval", "Waiting for approval"
    WAITING_FOR_INPUT = "waiting_for_input", "Waiting for input"
    WAITING_FOR_REMOTE = "waiting_for_remote", "Waiting for a remote agent"
    COMPLETED = "completed", "Completed"
    FAILED = "failed", "Failed"
    CANCELED = "canceled", "Canceled"
    REJECTED = "rejected", "Rejected"

    @property
    def is_terminal(self) -> bool:
        return self in TERMINAL_STATES


WAITING_STATES = frozenset(
    {
        RunState.WAITING_FOR_APPROVAL,
        RunState.WAITING_FOR_INPUT,
        RunState.WAITING_FOR_REMOTE,
    }
)
# A remote agent has a deadline of its own; these wait for people.
WAITING_FOR_PEOPLE = frozenset(
    {RunState.WAITING_FOR_APPROVAL, RunState.WAITING_FOR_INPUT}
)
TERMINAL_STATES = frozenset(
    {RunState.COMPLETED, RunState.FAILED, RunState.CANCELED, RunState.REJECTED}
)


class EndReason(models.TextChoices):
    """Why a run ended (R4)."""

    COMPLETED = "completed", "Completed"
    MAX_ROUNDS = "max_rounds", "No answer within the round limit"
    BUDGET_EXHAUSTED = "budget_exhausted", "Budget exhausted"
    POLICY_DENIED = "policy_denied", "The result may not be kept"
    PROVIDER_FAILED = "provider_failed", "The model provider refused"
    CONTEXT_EXCEEDED = "context_exceeded", "Too long for the model"
    CANCELED = "canceled", "Canceled"
    RETRIES_EXHAUSTED = "retries_exhausted", "Failed on every try"
    NOT_RETRYABLE = "not_retryable", "Unexpected failure"
    WAIT_EXPIRED = "wait_expired", "Nobody answered in time"
    INPUT_REJECTED = "input_rejected", "The input was refused"
    PRECONDITION_FAILED = "precondition_failed", "A precondition no longer holds"
    LEASE_LOST_AFTER_WRITE = "lease_lost_after_write", "Worker lost after a write"


class AgentRun(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    state = models.CharField(max_length=24, choices=RunState, default=RunState.QUEUED)
    end_reason = models.CharField(max_length=32, choices=EndReason, blank=True)
    truncated = models.BooleanField(
        default=False, help_text="The answer was given at the round limit."
    )

    # Who and what, as it was when the run was queued (S50).
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        related_name="agent_runs",
        help_text="The user whose permissions the run has.",
    )
    starter = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="Who started it by hand. Empty: its owner counts as the starter.",
    )
    handler = models.CharField(max_length=64)
    configuration = models.ForeignKey(
        LLMConfiguration,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="runs",
    )
    workspace = models.ForeignKey(
        Workspace, null=True, blank=True, on_delete=models.PROTECT, related_name="runs"
    )
    tools = models.JSONField(default=list, blank=True)
    answer_level = models.CharField(
        max_length=16, choices=AnswerLevel, default=AnswerLevel.FULL
    )

    # Contents, encrypted. JSON texts: `contents.py` knows the shapes of request and
    # result, `transcript.py` those of the other two.
    request = EncryptedTextField()
    checkpoint = EncryptedTextField(null=True)
    pending = EncryptedTextField(null=True)
    result = EncryptedTextField(null=True)

    # What a waiting run waits for: a question or an approval, as `waiting.py` writes it,
    # and the id that an answer or a verdict has to name (T9, T12).
    waiting_for = EncryptedTextField(null=True)
    waiting_id = models.CharField(max_length=64, blank=True, db_default="")

    # The lease of the segment that executes it now (R9).
    lease_owner = models.CharField(max_length=65, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    segments = models.PositiveIntegerField(default=0)
    requeues = models.PositiveIntegerField(default=0)
    has_effects = models.BooleanField(
        default=False, help_text="It wrote or delegated; it never starts over."
    )

    # Counters of the loop.
    rounds = models.PositiveIntegerField(default=0)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    events_written = models.PositiveIntegerField(default=0)

    created_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True, blank=True)
    nudged_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    state_changed_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = "run"
        permissions = [
            ("decide_run", "Can approve, deny and answer other people's runs"),
            ("cancel_run", "Can cancel other people's runs"),
        ]
        indexes = [
            models.Index(
                fields=["due_at", "id"],
                name="agentrun_due",
                condition=Q(state=RunState.QUEUED),
            ),
            models.Index(
                fields=["lease_expires_at"],
                name="agentrun_lease",
                condition=Q(state=RunState.RUNNING),
            ),
            models.Index(
                fields=["state_changed_at"],
                name="agentrun_waiting",
                condition=Q(state__in=sorted(WAITING_STATES)),
            ),
            models.Index(fields=["ended_at", "id"], name="agentrun_ended"),
            models.Index(fields=["-created_at", "-id"], name="agentrun_newest"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=RunState.values), name="agentrun_state_known"
            ),
            models.CheckConstraint(
                # An ended run says when and why, one that goes on says neither.
                condition=Q(state__in=sorted(TERMINAL_STATES), ended_at__isnull=False)
                & ~Q(end_reason="")
                | ~Q(state__in=sorted(TERMINAL_STATES))
                & Q(ended_at__isnull=True, end_reason=""),
                name="agentrun_end_is_whole",
            ),
            models.CheckConstraint(
                condition=Q(state=RunState.RUNNING, lease_expires_at__isnull=False)
                & ~Q(lease_owner="")
                | ~Q(state=RunState.RUNNING)
                & Q(lease_expires_at__isnull=True, lease_owner=""),
                name="agentrun_lease_iff_running",
            ),
            models.CheckConstraint(
                # Whoever waits for a person says what for.
                condition=~Q(state__in=sorted(WAITING_FOR_PEOPLE))
                | Q(waiting_for__isnull=False) & ~Q(waiting_id=""),
                name="agentrun_waiting_is_whole",
            ),
        ]

    def __str__(self) -> str:
        return f"Run {self.id}"

    @property
    def current_level(self) -> AnswerLevel:
        """The stricter of the level at enqueue and the provider's own, as read (R16)."""
        if self.configuration is None:
            return AnswerLevel(self.answer_level)
        return stricter(self.answer_level, self.configuration.provider.answer_level)

    @property
    def starter_or_owner_id(self) -> Any:
        """Who counts as the one who started it (T12)."""
        return self.starter_id or self.owner_id


class WaitingRun(AgentRun):
    """The same rows for the inbox, a page of its own beside that of all runs."""

    class Meta:
        proxy = True
        verbose_name = "waiting run"
        verbose_name_plural = "inbox"
        # Who may decide about a run is a question of the run (R20).
        default_permissions = ()


class EventKind(models.TextChoices):
    REQUEST = "request", "Request"
    MODEL = "model", "Model call"
    TOOL = "tool", "Tool call"
    QUESTION = "question", "Question"
    ANSWER = "answer", "Answer"
    APPROVAL = "approval", "Approval"
    WRITE = "write", "Write"
    DELEGATION = "delegation", "Delegation"
    CONTEXT = "context", "Context"
    RETRY = "retry", "Retry"
    SETTLED = "settled", "Settled"


class AgentRunEvent(models.Model):
    """`facts`: names, counts, lengths. `content`: text, as far as the level lets it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    run = models.ForeignKey(
        AgentRun,
        on_delete=models.CASCADE,
        related_name="events",
        # The constraint's index begins with the column.
        db_index=False,
    )
    sequence = models.PositiveIntegerField()
    kind = models.CharField(max_length=16, choices=EventKind)
    round = models.PositiveIntegerField(default=0)
    duration_ms = models.PositiveIntegerField(null=True, blank=True)
    facts = models.JSONField(default=dict, blank=True)
    content = EncryptedTextField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name = "run event"
        constraints = [
            models.UniqueConstraint(
                fields=["run", "sequence"], name="agentrunevent_sequence_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.sequence} {self.get_kind_display()}"
