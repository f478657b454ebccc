"""A remote agent that may call this installation (P4)."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q

from a2a_server.models.profile import Profile
from agent_runs import saving
from agent_runs.models import Workspace


class Client(models.Model):
    name = models.CharField(
        max_length=100, unique=True, help_text="For commands and logs; not only digits."
    )
    technical_user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="a2a_clients",
        help_text="Every run of this client has exactly this user's permissions. It "
        "must be active and no superuser.",
    )
    workspace = models.ForeignKey(
        Workspace,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="a2a_clients",
        help_text="Where its runs write drafts. Empty: it may call no writing skill.",
    )
    profiles = models.ManyToManyField(
        Profile, through="ClientProfile", related_name="clients"
    )
    task_limit = models.PositiveIntegerField(
        default=10,
        validators=[MinValueValidator(1)],
        help_text="How many of its tasks may be queued or running at once.",
    )
    is_enabled = models.BooleanField(
        "enabled", default=False, help_text="Off: every call is refused (401)."
    )
    expires_at = models.DateTimeField(
        null=True, blank=True, help_text="From then on it is refused. Empty: never."
    )

    token_prefix = models.CharField(
        max_length=12, unique=True, null=True, blank=True, editable=False
    )
    token_hash = models.CharField(max_length=64, blank=True, editable=False)
    token_issued_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_from = models.GenericIPAddressField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name = "A2A client"
        constraints = [
            models.CheckConstraint(
                condition=Q(task_limit__gte=1), name="client_task_limit_at_least_1"
            ),
            models.CheckConstraint(
                # A command takes an id or a name; a name of digits would be both.
                condition=~Q(name__regex=r"^[0-9]+$"),
                name="client_name_not_all_digits",
                violation_error_message="A name of digits only could be taken for an "
                "id. Add a letter.",
            ),
            models.CheckConstraint(
                condition=Q(token_prefix__isnull=True, token_hash="")
                | Q(token_prefix__isnull=False) & ~Q(token_hash=""),
                name="client_token_is_whole",
            ),
        ]

    # The admin's form sets it: the skills chosen there are judged with the form's rows,
    # since what is stored is about to change.
    grants_are_checked_later = False

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        self.name = str(self.name or "").strip()
        saving.check(self)


class ClientProfile(models.Model):
    client = models.ForeignKey(Client, on_delete=models.CASCADE, related_name="grants")
    profile = models.ForeignKey(
        Profile, on_delete=models.PROTECT, related_name="grants"
    )

    class Meta:
        verbose_name = "skill of a client"
        verbose_name_plural = "skills of a client"
        constraints = [
            models.UniqueConstraint(
                fields=["client", "profile"],
                name="clientprofile_once",
                violation_error_message="The client may call this skill already.",
            )
        ]

    def __str__(self) -> str:
        return f"{self.client} → {self.profile}"

    def clean(self) -> None:
        saving.check(self)
