"""Publication profiles: the skills of this installation (P3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.utils.html import format_html_join

from a2a_server import skills
from a2a_server.admin.tool_choice import ToolsField, in_stored_order
from a2a_server.admin.try_it import TryAdmin
from a2a_server.models import Profile
from agent_runs import saving
from agent_runs.admin.fields import LinesField
from agent_runs.admin.history import handler_label
from agent_runs.admin.records import RecordForm
from agent_runs.handlers import registered

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.utils.safestring import SafeString


class ProfileForm(RecordForm[Profile]):
    handler = forms.ChoiceField(
        label="Domain handler",
        help_text="What turns the client's message into the run and its result.",
    )
    tags = LinesField(required=False, help_text="Words for the card, one a line.")
    examples = LinesField(
        required=False, help_text="Example messages for the card, one a line."
    )
    tools = ToolsField(required=False, help_text="What its runs may use.")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["handler"].choices = _handler_choices(self.instance.handler)  # type: ignore[attr-defined]
        self.fields["tools"].offer(self.instance.tools)  # type: ignore[attr-defined]

    def clean_tools(self) -> list[str]:
        return in_stored_order(self.cleaned_data["tools"], self.instance.tools)


def _handler_choices(stored: str) -> list[tuple[str, str]]:
    choices = [("", "---------")]
    choices += [
        (handler.name, _handler_choice(handler.name)) for handler in registered()
    ]
    if stored and stored not in dict(choices):
        choices.append((stored, handler_label(stored)))
    return choices


def _handler_choice(name: str) -> str:
    uses_model = any(h.name == name and h.uses_model for h in registered())
    return f"{handler_label(name)} ({'uses a model' if uses_model else 'no model'})"


@admin.register(Profile)
class ProfileAdmin(TryAdmin):
    form = ProfileForm
    list_display = (
        "name",
        "skill_id",
        "is_public",
        "card",
        "position",
        "may_write",
        "configuration",
        "handler_shown",
    )
    list_editable = ("is_public", "position")
    list_filter = ("is_public", "may_write")
    list_select_related = ("configuration__provider",)
    search_fields = ("name", "skill_id", "description")
    ordering = ("position", "skill_id")
    readonly_fields = ("card",)
    fieldsets = (
        (None, {"fields": ("skill_id", "name", "is_public", "card")}),
        ("On the card", {"fields": ("description", "tags", "examples", "position")}),
        (
            "What it does",
            {
                "fields": (
                    "handler",
                    "configuration",
                    "tools",
                    "may_write",
                    "remember_context",
                )
            },
        ),
        ("Limits", {"fields": ("active_task_quota",)}),
    )
    way_out = "Switch it off instead: clear «public» and save."
    pointers = {"grants": ("client that may call it", "clients that may call it")}
    empty_list_hint = (
        "No profile yet. Each one publishes a skill; make an LLM configuration first "
        "where its handler uses a model."
    )

    @admin.display(description="domain handler")
    def handler_shown(self, profile: Profile) -> str:
        return handler_label(profile.handler)

    @admin.display(description="on the card")
    def card(self, profile: Profile) -> SafeString | str:
        if not profile.pk:
            return "Not saved yet."
        problems = skills.problems(profile)
        return format_html_join(" ", "{}", ((p,) for p in problems)) or "yes"

    def save_model(
        self, request: HttpRequest, obj: Profile, form: Any, change: bool
    ) -> None:
        super().save_model(request, obj, form, change)
        if withheld := sorted(set(obj.tools) - set(skills.granted_tools(obj))):
            names = saving.listed(withheld)
            sentence = f"Without «may write» its runs do not get {names}."
            self.message_user(request, sentence, messages.WARNING)
