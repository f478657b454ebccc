"""Model providers and the configurations that runs use (P1, P2)."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib.auth.models import Group
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from agent_runs import encryption, saving
from agent_runs.encryption import EncryptedTextField


class AnswerLevel(models.TextChoices):
    """How much of prompts and answers may be kept, strictest first (R16)."""

    NONE = "none", "Nothing"
    METADATA = "metadata", "Metadata only"
    REDACTED = "redacted", "Redacted text"
    FULL = "full", "Full text"

    @classmethod
    def _missing_(cls, value: object) -> AnswerLevel:
        """What a fixture stored and nobody knows keeps nothing."""
        return cls.NONE

    @property
    def strictness(self) -> int:
        return -list(AnswerLevel).index(self)

    @property
    def keeps_result(self) -> bool:
        return self in {AnswerLevel.REDACTED, AnswerLevel.FULL}


def stricter(one: str, other: str) -> AnswerLevel:
    return max(AnswerLevel(one), AnswerLevel(other), key=lambda level: level.strictness)


class ProviderKind(models.TextChoices):
    OPENAI_COMPATIBLE = "openai-compatible", "OpenAI-compatible endpoint"
    OFFLINE = "offline", "Offline (deterministic, for demonstrations)"
    ANTHROPIC = "anthropic", "Anthropic (extra package)"
    GOOGLE = "google", "Google (extra package)"


class Provider(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(
        max_length=100, unique=True, help_text="How people here call it."
    )
    kind = models.CharField(
        max_length=32,
        choices=ProviderKind,
        help_text="«Offline» needs no network and no key; its answers are computed from "
        "the text.",
    )
    base_url = models.CharField(
        "base URL",
        max_length=500,
        blank=True,
        help_text="http or https, without user name. Private addresses are allowed, "
        "since you declare it. Changing it empties the stored key.",
    )
    api_key = EncryptedTextField("API key", null=True, blank=True)
    timeout_seconds = models.PositiveIntegerField(
        "time-out (seconds)",
        default=60,
        validators=[MinValueValidator(1), MaxValueValidator(600)],
        help_text="For one whole model call.",
    )
    max_retries = models.PositiveIntegerField(
        default=3,
        validators=[MaxValueValidator(3)],
        help_text="How often a run is tried again after a passing failure; at most 3.",
    )
    answer_level = models.CharField(
        max_length=16,
        choices=AnswerLevel,
        default=AnswerLevel.FULL,
        help_text="What may be kept of prompts and answers. «Nothing» and «Metadata only» "
        "keep no result, so no public skill can use this provider.",
    )
    use_environment_proxy = models.BooleanField(
        default=False,
        help_text="Send requests through the proxy named in the worker's environment.",
    )
    is_active = models.BooleanField("active", default=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(timeout_seconds__gte=1, timeout_seconds__lte=600),
                name="provider_timeout_in_range",
            ),
            models.CheckConstraint(
                condition=Q(max_retries__lte=3), name="provider_max_retries_at_most_3"
            ),
        ]

    # Whether `enter_key` was called for the save that follows.
    _is_key_entered = False

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **options: Any) -> None:
        """A key entered for another kind or address goes with the old one (P1)."""
        if self._leaves_key_behind():
            self.api_key = None
            if options.get("update_fields") is not None:
                options["update_fields"] = {*options["update_fields"], "api_key"}
        super().save(*args, **options)
        self._is_key_entered = False

    def clean(self) -> None:
        self.base_url = str(self.base_url or "").strip()
        saving.check(self)

    @property
    def has_api_key(self) -> bool:
        """Whether a key is stored; tells it without opening the key."""
        return bool(vars(self).get("api_key"))

    def enter_key(self, key: str) -> None:
        """Give the key for the kind and the address as they are now."""
        self.api_key = key
        self._is_key_entered = True

    def _leaves_key_behind(self) -> bool:
        if self._state.adding or self._is_key_entered:
            return False
        stored = Provider.objects.filter(pk=self.pk).first()
        if stored is None or not stored.has_api_key:
            return False
        if (stored.kind, stored.base_url) == (self.kind, self.base_url):
            return False
        return encryption.is_as_stored(self, stored, "api_key")


class LLMConfiguration(models.Model):
    identifier = models.SlugField(
        max_length=64, unique=True, help_text="Short name for commands and logs."
    )
    name = models.CharField(max_length=100)
    provider = models.ForeignKey(
        Provider, on_delete=models.PROTECT, related_name="configurations"
    )
    model_name = models.CharField(
        max_length=200,
        help_text="As the provider names it. Offline: «summary», «text-check», «echo», "
        "or one that an app brings.",
    )
    system_prompt = models.TextField(
        blank=True, help_text="Instructions that stand before every run's text."
    )
    temperature = models.FloatField(
        null=True,
        blank=True,
        validators=[MinValueValidator(0.0), MaxValueValidator(2.0)],
        help_text="Empty: the provider's default.",
    )
    max_tokens = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Longest answer, in tokens. Empty: the provider's default.",
    )
    max_rounds = models.PositiveIntegerField(
        default=5,
        validators=[MinValueValidator(1), MaxValueValidator(20)],
        help_text="How many model calls one run may make; at most 20.",
    )
    allowed_groups = models.ManyToManyField(
        Group,
        through="AllowedGroup",
        blank=True,
        help_text="Only users of these groups may use it. None chosen: everyone.",
    )
    four_eyes = models.BooleanField(
        "four eyes",
        default=False,
        help_text="Who started a run may deny its writes but not approve them.",
    )
    is_active = models.BooleanField("active", default=True)

    class Meta:
        verbose_name = "LLM configuration"
        constraints = [
            models.CheckConstraint(
                condition=Q(max_rounds__gte=1, max_rounds__lte=20),
                name="llmconfiguration_max_rounds_in_range",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        saving.check(self)


class AllowedGroup(models.Model):
    """A group whose users may use a configuration.

    A configuration without groups is everyone's, so that a group which went with its last
    row would open it: a group that is named here cannot be deleted.
    """

    configuration = models.ForeignKey(
        LLMConfiguration, on_delete=models.CASCADE, related_name="allowances"
    )
    group = models.ForeignKey(
        Group, on_delete=models.PROTECT, related_name="configuration_allowances"
    )

    class Meta:
        verbose_name = "allowed group"
        constraints = [
            models.UniqueConstraint(
                fields=["configuration", "group"], name="allowedgroup_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.group} → {self.configuration}"
