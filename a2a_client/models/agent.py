"""A remote agent that runs may hand a step to (C1)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.contrib.auth.models import Group
from django.core.validators import (
    MaxValueValidator,
    MinValueValidator,
    RegexValidator,
)
from django.db import models
from django.db.models import Q

from agent_runs import encryption, saving
from agent_runs.encryption import EncryptedTextField
from egress.errors import Refused
from egress.policy import origin_of

if TYPE_CHECKING:
    from collections.abc import Sequence


class CredentialKind(models.TextChoices):
    NONE = "none", "None"
    BEARER = "bearer", "Bearer token"
    API_KEY = "api_key", "API key in a header"
    BASIC = "basic", "User name and password"
    OAUTH2 = "oauth2", "OAuth 2 client credentials"


class Delivery(models.TextChoices):
    POLL = "poll", "Poll"
    STREAM = "stream", "Stream"


# What is kept of a card and of what was chosen from it; empty before the first import.
CARD_FIELDS = (
    "card",
    "card_hash",
    "card_etag",
    "card_at",
    "interface_url",
    "interface_binding",
    "interface_version",
    "interface_tenant",
    "confirmed_origin",
)
# A secret was entered for these; whoever changes one enters it again (P1).
_SECRET_IS_FOR = ("credential_kind", "card_url", "token_url")


class RemoteAgent(models.Model):
    identifier = models.CharField(
        max_length=60,
        unique=True,
        validators=[
            RegexValidator(
                r"\A[a-z0-9_]+\Z", "Small letters, digits and underscores only."
            )
        ],
        help_text="For commands and for models: its tool is called a2a_ and this.",
    )
    name = models.CharField(max_length=100)
    description = models.TextField(
        blank=True,
        help_text="For models: what may be handed to this agent. Empty: what its card "
        "says.",
    )
    is_enabled = models.BooleanField(
        "enabled",
        default=False,
        help_text="Off: no run is given its tool, and no message is sent to it.",
    )

    card_url = models.CharField(
        "card URL",
        max_length=2000,
        help_text="Where its agent card is, usually ending in "
        "/.well-known/agent-card.json. Changing it forgets the card and the credential.",
    )
    card = models.TextField(blank=True, editable=False)
    card_hash = models.CharField(max_length=64, blank=True, editable=False)
    card_etag = models.CharField(max_length=200, blank=True, editable=False)
    card_at = models.DateTimeField(null=True, blank=True, editable=False)
    interface_url = models.CharField(max_length=2000, blank=True, editable=False)
    interface_binding = models.CharField(max_length=32, blank=True, editable=False)
    interface_version = models.CharField(max_length=16, blank=True, editable=False)
    interface_tenant = models.CharField(max_length=255, blank=True, editable=False)
    # The origin that an administrator lets its interface have (C2).
    confirmed_origin = models.CharField(max_length=300, blank=True, editable=False)

    credential_kind = models.CharField(
        "credential",
        max_length=16,
        choices=CredentialKind,
        default=CredentialKind.NONE,
    )
    credential_name = models.CharField(
        max_length=200,
        blank=True,
        help_text="API key: the header's name. User name and password: the user name. "
        "OAuth 2: the client id. Else empty.",
    )
    credential_secret = EncryptedTextField(null=True, blank=True)
    token_url = models.CharField(
        "token URL", max_length=2000, blank=True, help_text="OAuth 2 only."
    )
    scopes = models.CharField(
        max_length=500, blank=True, help_text="OAuth 2 only; separated by spaces."
    )
    access_token = EncryptedTextField(null=True, blank=True, editable=False)
    access_token_expires_at = models.DateTimeField(
        null=True, blank=True, editable=False
    )

    allowed_groups = models.ManyToManyField(
        Group,
        through="AgentGroup",
        blank=True,
        help_text="Only runs of users of these groups may use it. None chosen: everyone.",
    )
    allowed_skills = models.JSONField(
        default=list,
        blank=True,
        help_text="Ids of those of its skills that may be asked for. None: all.",
    )
    requires_approval = models.BooleanField(
        default=True, help_text="A person approves every step before it is handed over."
    )
    delivery = models.CharField(
        max_length=8,
        choices=Delivery,
        default=Delivery.POLL,
        help_text="Poll: no worker is held while the agent works. Stream: a worker "
        "follows along, where the agent offers it.",
    )
    timeout_seconds = models.PositiveIntegerField(
        "time-out (seconds)",
        default=30,
        validators=[MinValueValidator(1), MaxValueValidator(120)],
        help_text="For one whole request.",
    )
    deadline_minutes = models.PositiveIntegerField(
        "deadline (minutes)",
        default=60,
        validators=[MinValueValidator(1), MaxValueValidator(7 * 24 * 60)],
        help_text="How long its task may take; then it is canceled.",
    )
    max_active_calls = models.PositiveIntegerField(
        default=5,
        validators=[MinValueValidator(1)],
        help_text="How many steps it may have at once.",
    )
    last_contact_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name = "remote agent"
        permissions = [
            ("call_remoteagent", "Can probe and call remote agents"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(max_active_calls__gte=1),
                name="remoteagent_max_active_calls_at_least_1",
            ),
            models.CheckConstraint(
                condition=Q(timeout_seconds__gte=1, timeout_seconds__lte=120),
                name="remoteagent_timeout_in_range",
            ),
            models.CheckConstraint(
                condition=Q(deadline_minutes__gte=1, deadline_minutes__lte=10080),
                name="remoteagent_deadline_in_range",
            ),
        ]

    # Whether `enter_secret` was called for the save that follows.
    _is_secret_entered = False

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **options: Any) -> None:
        """What belonged to another address goes with it (P1, C2)."""
        forgotten = list(self._forget_what_was_elsewhere())
        if forgotten and options.get("update_fields") is not None:
            options["update_fields"] = {*options["update_fields"], *forgotten}
        super().save(*args, **options)
        self._is_secret_entered = False

    def clean(self) -> None:
        self.card_url = str(self.card_url or "").strip()
        self.token_url = str(self.token_url or "").strip()
        saving.check(self)

    @property
    def tool_name(self) -> str:
        return f"a2a_{self.identifier}"

    @property
    def has_secret(self) -> bool:
        """Whether a secret is stored; tells it without opening it."""
        return bool(vars(self).get("credential_secret"))

    @property
    def needs_secret(self) -> bool:
        return self.credential_kind != CredentialKind.NONE

    @property
    def interface_origin(self) -> str:
        """Where messages go to; empty without an interface that can be used."""
        try:
            return origin_of(self.interface_url) if self.interface_url else ""
        except Refused:
            return ""

    @property
    def is_confirmed(self) -> bool:
        """Whether the chosen interface has the origin that was confirmed (C2)."""
        origin = self.interface_origin
        return bool(origin) and origin == self.confirmed_origin

    @property
    def host(self) -> str:
        return urlsplit(self.interface_url).hostname or ""

    @property
    def offers_streaming(self) -> bool:
        """Whether the stored card says so."""
        try:
            card = json.loads(self.card or "{}")
        except ValueError:
            return False
        capabilities = card.get("capabilities") if isinstance(card, dict) else None
        return isinstance(capabilities, dict) and capabilities.get("streaming") is True

    def call_problem(self) -> str | None:
        """Why no message may be sent to it now, for administrators."""
        if not self.is_enabled:
            return "The agent is not enabled."
        return self.reach_problem()

    def reach_problem(self) -> str | None:
        """Why it cannot even be asked something harmless, for administrators."""
        if not self.interface_origin:
            return "It has no interface to use: import its card."
        if not self.is_confirmed:
            origin = self.interface_origin
            return f"Nobody has confirmed that its interface may be at {origin}."
        if self.needs_secret and not self.has_secret:
            return "Its credential has to be entered."
        return None

    def enter_secret(self, secret: str) -> None:
        """Give the secret for the addresses as they are now."""
        self.credential_secret = secret
        self._is_secret_entered = True

    def _forget_what_was_elsewhere(self) -> Sequence[str]:
        if self._state.adding:
            return ()
        stored = RemoteAgent.objects.filter(pk=self.pk).first()
        if stored is None:
            return ()
        forgotten: list[str] = []
        if stored.card_url != self.card_url:
            for name in CARD_FIELDS:
                setattr(self, name, None if name == "card_at" else "")
            forgotten += CARD_FIELDS
        if self.leaves_secret_behind(stored):
            self.credential_secret = None
            forgotten.append("credential_secret")
        if self._leaves_token_behind(stored):
            self.access_token = self.access_token_expires_at = None
            forgotten += ["access_token", "access_token_expires_at"]
        return forgotten

    def leaves_secret_behind(self, stored: RemoteAgent) -> bool:
        """Whether saving this over `stored` forgets the secret (P1)."""
        if self._is_secret_entered or not stored.has_secret:
            return False
        if all(getattr(stored, n) == getattr(self, n) for n in _SECRET_IS_FOR):
            return False
        return encryption.is_as_stored(self, stored, "credential_secret")

    def _leaves_token_behind(self, stored: RemoteAgent) -> bool:
        """A token was made with all of these; nobody enters one."""
        made_with = (*_SECRET_IS_FOR, "credential_name", "scopes")
        return self._is_secret_entered or any(
            getattr(stored, name) != getattr(self, name) for name in made_with
        )


class AgentGroup(models.Model):
    """A group whose users' runs may use an agent.

    An agent without groups is everyone's, so that a group which went with its last row
    would open it: a group that is named here cannot be deleted.
    """

    agent = models.ForeignKey(
        RemoteAgent, on_delete=models.CASCADE, related_name="allowances"
    )
    group = models.ForeignKey(
        Group, on_delete=models.PROTECT, related_name="agent_allowances"
    )

    class Meta:
        verbose_name = "remote agent that allows it"
        verbose_name_plural = "remote agents that allow it"
        constraints = [
            models.UniqueConstraint(fields=["agent", "group"], name="agentgroup_once")
        ]

    def __str__(self) -> str:
        return f"{self.group} → {self.agent}"
