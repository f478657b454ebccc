"""Clients: the remote agents that may call this installation (P4).

The token is never here: the record knows its public prefix and a hash. It is issued by a
command, since what a page shows stays in histories, proxies and screenshots.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.forms.models import BaseInlineFormSet
from django.utils.html import format_html

from a2a_server import auth, rules
from a2a_server.models import Client, ClientProfile, Profile
from agent_runs import saving
from agent_runs.admin.records import RecordAdmin, RecordForm, RecordInline

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.forms import ModelForm
    from django.http import HttpRequest
    from django.utils.safestring import SafeString

if TYPE_CHECKING:
    _GrantFormSet = BaseInlineFormSet[ClientProfile, Client, ModelForm[ClientProfile]]
else:
    _GrantFormSet = BaseInlineFormSet


class ClientForm(RecordForm[Client]):
    """The page with the skills below: those decide with the rows that are chosen."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.instance.grants_are_checked_later = True


class GrantFormSet(_GrantFormSet):
    def add_fields(self, form: Any, index: int | None) -> None:
        super().add_fields(form, index)
        if "profile" in form.fields:
            form.fields["profile"].choices = self._choices

    @cached_property
    def _choices(self) -> list[tuple[Any, str]]:
        """Read once, not once a row."""
        profiles = Profile.objects.order_by("name")
        return [("", "---------"), *((p.pk, str(p)) for p in profiles)]

    def clean(self) -> None:
        super().clean()
        change = saving.change_of(self.instance)
        problems = list(rules.grants_fit(change, self._kept_profiles()))
        if problems:
            raise ValidationError([problem.sentence for problem in problems])

    def _kept_profiles(self) -> QuerySet[Profile]:
        """Of the rows as they were; a row that is new is judged by its own form."""
        kept = [
            form.instance.profile_id
            for form in self.initial_forms
            if not form.has_changed()
        ]
        profiles = Profile.objects.filter(pk__in=kept).order_by("name")
        return profiles.prefetch_related(*rules.GROUPS_OF_PROFILES)


class GrantInline(RecordInline[ClientProfile, Client]):
    model = ClientProfile
    formset = GrantFormSet
    extra = 1
    verbose_name = "skill it may call"
    verbose_name_plural = "skills it may call"

    def get_queryset(self, request: HttpRequest) -> QuerySet[ClientProfile]:
        rows = super().get_queryset(request).select_related("profile", "client")
        return rows.order_by("profile__name")


def _argument(client: Client) -> str:
    """The name, where every shell takes it as one word, or else the id."""
    return client.name if re.fullmatch(r"\w[\w.-]*", client.name) else str(client.pk)


@admin.register(Client)
class ClientAdmin(RecordAdmin[Client]):
    form = ClientForm
    inlines = (GrantInline,)
    list_display = (
        "name",
        "is_enabled",
        "technical_user",
        "skills_shown",
        "token",
        "last_used_at",
        "expires_at",
        "workspace",
    )
    list_editable = ("is_enabled",)
    list_filter = ("is_enabled", "workspace")
    list_select_related = ("technical_user", "workspace")
    search_fields = ("name", "token_prefix")
    ordering = ("name",)
    actions = ["delete_selected", "revoke_selected"]
    readonly_fields = (
        "token",
        "token_issued_at",
        "last_used_at",
        "last_used_from",
        "token_command",
    )
    fieldsets = (
        (None, {"fields": ("name", "is_enabled", "expires_at")}),
        ("What its runs may do", {"fields": ("technical_user", "workspace")}),
        ("Limits", {"fields": ("task_limit",)}),
        ("Token", {"fields": readonly_fields}),
    )
    way_out = "Switch it off instead: clear «enabled» and save."
    empty_list_hint = (
        "No client yet. A client is a remote agent: it needs a technical user, the skills "
        "it may call, and a token."
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Client]:
        return super().get_queryset(request).prefetch_related("profiles")

    def get_form(
        self,
        request: HttpRequest,
        obj: Client | None = None,
        change: bool = False,
        **kwargs: Any,
    ) -> Any:
        if not self.get_inline_instances(request, obj):
            # Somebody who may not see the skills: those that are stored decide.
            kwargs["form"] = RecordForm
        return super().get_form(request, obj, change, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Client | None = None) -> Any:
        if obj is not None:
            return super().get_fieldsets(request, obj)
        # There is no token to tell about.
        return (*self.fieldsets[:-1], ("Token", {"fields": ("token_command",)}))

    @admin.display(description="skills")
    def skills_shown(self, client: Client) -> str:
        return (
            ", ".join(profile.skill_id for profile in client.profiles.all()) or "none"
        )

    @admin.display(description="token")
    def token(self, client: Client) -> str:
        return f"a2a_{client.token_prefix}_…" if client.token_prefix else "none issued"

    @admin.display(description="how to issue one")
    def token_command(self, client: Client) -> SafeString | str:
        if not client.pk:
            return "Save the client first; its page then tells how."
        return format_html(
            "Run <code>manage.py {0}</code> on the server (with <code>make run</code>: "
            '<code>make manage ARGS="{0}"</code>). It prints the token once; an earlier '
            "token stops working at that moment, and the tasks stay.",
            f"a2a_client_token {_argument(client)}",
        )

    @admin.action(
        permissions=["change"],
        description="Revoke the tokens of selected %(verbose_name_plural)s",
    )
    def revoke_selected(self, request: HttpRequest, queryset: QuerySet[Client]) -> None:
        holders = list(queryset.exclude(token_prefix=None))
        for client in holders:
            auth.revoke_token(client, by=request.user.get_username())
            self.log_change(request, client, "Token revoked.")
        count = len(holders)
        noun = "token was" if count == 1 else "tokens were"
        level = messages.SUCCESS if count else messages.WARNING
        self.message_user(request, f"{count} {noun} revoked.", level)
