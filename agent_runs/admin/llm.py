"""Providers and LLM configurations (P1, P2).

The key of a provider is written here and never read: the page tells whether one is
stored, takes another one and removes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages

from agent_runs import encryption
from agent_runs.admin.choosing import ChoosesGroups
from agent_runs.admin.records import RecordAdmin, RecordForm
from agent_runs.models import LLMConfiguration, Provider
from agent_runs.offline import scripts

if TYPE_CHECKING:
    from django.http import HttpRequest

_SWITCH_OFF = "Switch it off instead: clear «active» and save."
_KEY_HELP = (
    "Stored encrypted and never shown again. Empty: the stored key stays, unless kind or "
    "base URL change; then it has to be entered again."
)


class ProviderForm(RecordForm[Provider]):
    new_api_key = forms.CharField(
        label="API key",
        required=False,
        max_length=1000,
        help_text=_KEY_HELP,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password", "size": 60}),
    )
    remove_api_key = forms.BooleanField(label="Remove the stored key", required=False)

    def clean_new_api_key(self) -> str:
        key = str(self.cleaned_data["new_api_key"] or "")
        if not key.isascii() or not key.isprintable() or " " in key:
            raise forms.ValidationError(
                "A key consists of visible ASCII characters without spaces."
            )
        if key and not encryption.can_seal():
            raise forms.ValidationError(
                "The key cannot be stored: A2A_ENCRYPTION_KEYS holds no usable key."
            )
        return key

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("new_api_key") and cleaned.get("remove_api_key"):
            self.add_error(
                "remove_api_key", "Either enter a key or remove the stored one."
            )
        return cleaned


@admin.register(Provider)
class ProviderAdmin(RecordAdmin[Provider]):
    form = ProviderForm
    list_display = ("name", "kind", "base_url", "key", "answer_level", "is_active")
    list_editable = ("answer_level", "is_active")
    list_filter = ("kind", "is_active")
    search_fields = ("name", "base_url")
    ordering = ("name",)
    readonly_fields = ("key",)
    fieldsets = (
        (None, {"fields": ("name", "kind", "base_url", "is_active")}),
        ("API key", {"fields": ("key", "new_api_key", "remove_api_key")}),
        ("What is kept", {"fields": ("answer_level",)}),
        (
            "Connection",
            {"fields": ("timeout_seconds", "max_retries", "use_environment_proxy")},
        ),
    )
    way_out = _SWITCH_OFF
    empty_list_hint = (
        "No provider yet. One of the kind «Offline» needs no key and no network."
    )

    def get_fieldsets(self, request: HttpRequest, obj: Provider | None = None) -> Any:
        if obj is not None:
            return super().get_fieldsets(request, obj)
        # There is no stored key to tell about or to remove.
        first, _, *others = self.fieldsets
        return (first, ("API key", {"fields": ("new_api_key",)}), *others)

    @admin.display(description="stored key")
    def key(self, provider: Provider) -> str:
        return "a key is stored" if provider.has_api_key else "none"

    def save_model(
        self, request: HttpRequest, obj: Provider, form: Any, change: bool
    ) -> None:
        had_key = obj.has_api_key
        if new_key := form.cleaned_data.get("new_api_key"):
            obj.enter_key(new_key)
        elif form.cleaned_data.get("remove_api_key"):
            obj.api_key = None
        super().save_model(request, obj, form, change)
        if had_key and not obj.has_api_key:
            self.message_user(
                request, "The stored API key was removed.", messages.WARNING
            )


@admin.register(LLMConfiguration)
class LLMConfigurationAdmin(ChoosesGroups, RecordAdmin[LLMConfiguration]):
    list_display = (
        "name",
        "identifier",
        "provider",
        "model_name",
        "max_rounds",
        "is_active",
    )
    list_editable = ("is_active",)
    list_filter = ("is_active", "provider")
    list_select_related = ("provider",)
    search_fields = ("name", "identifier", "model_name")
    ordering = ("name",)
    fieldsets = (
        (
            None,
            {"fields": ("name", "identifier", "provider", "model_name", "is_active")},
        ),
        ("Instructions", {"fields": ("system_prompt",)}),
        ("Limits", {"fields": ("temperature", "max_tokens", "max_rounds")}),
    )
    way_out = _SWITCH_OFF
    pointers = {
        "profiles": ("publication profile", "publication profiles"),
    }
    empty_list_hint = (
        "No configuration yet. It joins a provider's model with instructions; a skill "
        "names it."
    )

    def get_fieldsets(
        self, request: HttpRequest, obj: LLMConfiguration | None = None
    ) -> Any:
        # Django's check keeps a relation with declared rows out of `fieldsets`.
        return (*self.fieldsets, ("Who", {"fields": ("allowed_groups", "four_eyes")}))

    def formfield_for_dbfield(
        self, db_field: Any, request: HttpRequest | None, **options: Any
    ) -> Any:
        """Apps bring offline models of their own, so the names are known here only."""
        if db_field.name == "model_name":
            names = scripts.listed()
            options["help_text"] = f"As the provider names it. Offline: {names}."
        return super().formfield_for_dbfield(db_field, request, **options)
