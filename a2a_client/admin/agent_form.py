"""The form of a remote agent: its secret goes in and never comes out (P1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms

from a2a_client import importing, rules, words
from a2a_client.models import RemoteAgent
from a2a_client.models.agent import CredentialKind
from agent_runs import encryption
from agent_runs.admin.choosing import NamesField
from agent_runs.admin.records import RecordForm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from a2a_protocol.types import AgentSkill

_HELP_ON_IT = (
    "The token, the API key, the password or the client secret. Stored encrypted and "
    "never shown again. Empty: the stored one stays, unless the kind of credential, the "
    "card URL or the token URL change; then it has to be entered again."
)
_NO_SKILLS = "The card has to be imported first; it lists them."
_SKILLS_HELP = "None chosen: all of them may be asked for."
_LONGEST_LABEL = 200


class SkillsField(NamesField):
    """Skills of the stored card, and what is allowed although the card has it no more."""

    default_error_messages = {"invalid_choice": "The card has no skill «%(value)s»."}

    def offer(self, agent: RemoteAgent) -> None:
        card = importing.stored_card(agent) if agent.pk else None
        skills = card.skills if card else ()
        self.choices = list(_choices(skills, self.prepare_value(agent.allowed_skills)))
        self.help_text = _SKILLS_HELP if self.choices else _NO_SKILLS


def _choices(
    skills: tuple[AgentSkill, ...], allowed: list[str]
) -> Iterator[tuple[str, str]]:
    offered = {skill.id: skill for skill in skills if skill.id}
    for skill in offered.values():
        told = f"{skill.name} ({skill.id})" if skill.name else skill.id
        yield skill.id, words.one_line(told, _LONGEST_LABEL)
    for name in allowed:
        if name not in offered:
            shown = words.one_line(name, _LONGEST_LABEL)
            yield name, f"{shown} (no longer on the card)"


class RemoteAgentForm(RecordForm[RemoteAgent]):
    new_secret = forms.CharField(
        label="Secret",
        required=False,
        strip=False,
        max_length=10_000,
        help_text=_HELP_ON_IT,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password", "size": 60}),
    )
    remove_secret = forms.BooleanField(label="Remove the stored secret", required=False)
    allowed_skills = SkillsField(required=False)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "allowed_skills" in self.fields:
            self.fields["allowed_skills"].offer(self.instance)  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """What was entered is in the record before its rules are asked (P6)."""
        cleaned = super().clean() or self.cleaned_data
        secret = str(cleaned.get("new_secret") or "")
        if secret and cleaned.get("remove_secret"):
            self.add_error(
                "remove_secret", "Either enter a secret or remove the stored one."
            )
        elif secret:
            self._enter(secret, cleaned.get("credential_kind") or "")
        elif cleaned.get("remove_secret"):
            self.instance.credential_secret = None
        return cleaned

    def _enter(self, secret: str, kind: str) -> None:
        problem = rules.secret_problem(kind or CredentialKind.NONE, secret)
        if problem is None and not encryption.can_seal():
            problem = (
                "The secret cannot be stored: A2A_ENCRYPTION_KEYS holds no usable key."
            )
        if problem:
            self.add_error("new_secret", problem)
        else:
            self.instance.enter_secret(secret)
