"""A skill as an administrator publishes it (P3)."""

from __future__ import annotations

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from agent_runs import saving
from agent_runs.models import LLMConfiguration

# A skill id becomes a path segment beside the protocol's own (S9, HTTP+JSON).
RESERVED_SKILL_IDS = frozenset({"tasks", "v1", "message", "extendedagentcard"})
_SKILL_ID = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z"


class Profile(models.Model):
    skill_id = models.CharField(
        "skill id",
        max_length=64,
        validators=[
            RegexValidator(
                _SKILL_ID,
                "Use 1 to 64 letters, digits, dots, underscores and hyphens, beginning "
                "with a letter or a digit.",
            )
        ],
        help_text="How clients name the skill. They keep it, so do not change it later.",
    )
    name = models.CharField(max_length=100)
    description = models.TextField(help_text="What a remote agent reads to choose it.")
    tags = models.JSONField(
        default=list, blank=True, help_text="Words for the card, one a line."
    )
    examples = models.JSONField(
        default=list, blank=True, help_text="Example messages for the card, one a line."
    )
    handler = models.CharField(
        "domain handler",
        max_length=64,
        help_text="What turns the client's message into the run and its result.",
    )
    configuration = models.ForeignKey(
        LLMConfiguration,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="profiles",
        verbose_name="LLM configuration",
        help_text="Needed by handlers that use a model; empty for all others.",
    )
    tools = models.JSONField(
        default=list, blank=True, help_text="Tools its runs may use, one a line."
    )
    may_write = models.BooleanField(
        default=False,
        help_text="Its runs may use writing tools. Every client that may call it then "
        "needs a workspace.",
    )
    remember_context = models.BooleanField(
        "remember the context",
        default=False,
        db_default=False,
        help_text="Gives the model what was said in earlier tasks of the same client, "
        "skill and context: at most 20 messages.",
    )
    active_task_quota = models.PositiveIntegerField(
        default=0,
        help_text="How many of its tasks, from all clients, may be queued or running. "
        "0: no limit of its own.",
    )
    is_public = models.BooleanField(
        "public", default=False, help_text="On the card, and callable. Off: neither."
    )
    position = models.PositiveIntegerField(
        default=0, help_text="Order on the card; smaller stands first."
    )

    class Meta:
        verbose_name = "A2A publication profile"
        permissions = [("try_profile", "Can try a profile as one of its clients")]
        constraints = [
            models.UniqueConstraint(
                Lower("skill_id"),
                name="profile_skill_id_unique",
                violation_error_message="Another profile has this skill id already.",
            ),
            models.CheckConstraint(
                condition=Q(skill_id__regex=_SKILL_ID.replace(r"\Z", "$")),
                name="profile_skill_id_form",
                violation_error_message="The skill id is not of the right form.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.skill_id})"

    def clean(self) -> None:
        saving.check(self)
