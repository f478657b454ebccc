"""Remote agents that runs may hand a step to (C1, P5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Count, IntegerField, OuterRef, Subquery
from django.db.models.functions import Coalesce
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse

from a2a_client.admin import attention, card_facts
from a2a_client.admin.agent_form import RemoteAgentForm
from a2a_client.admin.importing import import_url, left_to_import
from a2a_client.admin.probing import ProbeAdmin
from a2a_client.models import ACTIVE_STATES, RemoteAgent, RemoteCall
from a2a_client.models.agent import CredentialKind
from agent_runs.admin.choosing import ChoosesGroups
from agent_runs.admin.fields import NOTHING

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest, HttpResponse
    from django.utils.safestring import SafeString

_OF_AGENT = RemoteCall.objects.filter(agent=OuterRef("pk")).order_by()
_ACTIVE = _OF_AGENT.filter(state__in=ACTIVE_STATES).values("agent")
_COUNT = Subquery(
    _ACTIVE.annotate(count=Count("pk")).values("count"), output_field=IntegerField()
)
_SEES_CALLS = "a2a_client.view_remotecall"


@admin.register(RemoteAgent)
class RemoteAgentAdmin(ChoosesGroups, ProbeAdmin):
    form = RemoteAgentForm
    change_form_template = "a2a_client/remote_agent.html"
    list_display = (
        "name",
        "identifier",
        "is_enabled",
        "host_shown",
        "credential_shown",
        "attention_shown",
        "last_contact_at",
        "active_shown",
    )
    list_editable = ("is_enabled",)
    search_fields = ("name", "identifier", "card_url")
    ordering = ("name",)
    actions = ["delete_selected", "import_selected"]
    readonly_fields = (
        "card_shown",
        "card_at",
        "confirmed_shown",
        "secret_shown",
        "last_contact_at",
        "attention_shown",
        "active_shown",
    )
    fieldsets = (
        (None, {"fields": ("name", "identifier", "is_enabled", "attention_shown")}),
        ("Card", {"fields": ("card_url", "card_shown", "card_at", "confirmed_shown")}),
        (
            "Credential",
            {
                "fields": (
                    "credential_kind",
                    "credential_name",
                    "secret_shown",
                    "new_secret",
                    "remove_secret",
                    "token_url",
                    "scopes",
                )
            },
        ),
        (
            "What may be handed over",
            {"fields": ("description", "allowed_skills", "requires_approval")},
        ),
        (
            "Delivery and limits",
            {
                "fields": (
                    "delivery",
                    "timeout_seconds",
                    "deadline_minutes",
                    "max_active_calls",
                )
            },
        ),
        ("Contact", {"fields": ("last_contact_at", "active_shown")}),
    )
    way_out = "Switch it off instead: clear «enabled» and save."
    empty_list_hint = (
        "No remote agent yet. Add one with the address of its agent card; the card is "
        "imported on the next page."
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[RemoteAgent]:
        # A card may be a megabyte; a list reads nothing of it.
        agents = super().get_queryset(request).defer("card")
        return agents.annotate(active_count=Coalesce(_COUNT, 0), **attention.LAST)

    # --- The form

    def get_fieldsets(
        self, request: HttpRequest, obj: RemoteAgent | None = None
    ) -> Any:
        # Django's check keeps a relation with declared rows out of `fieldsets`.
        who = ("Who", {"fields": ("allowed_groups",)})
        if obj is not None:
            named, card, credential, handed, *others = self.fieldsets
            if not self.has_change_permission(request, obj):
                credential = _without(credential, "new_secret", "remove_secret")
            return (named, card, credential, who, handed, *others)
        return _for_a_new_one(who)

    def formfield_for_dbfield(
        self, db_field: Any, request: HttpRequest | None, **options: Any
    ) -> Any:
        """An address is read before it is trusted, so most of it is to be seen."""
        if db_field.name in {"card_url", "token_url"}:
            options["widget"] = forms.TextInput(attrs={"size": 70})
        return super().formfield_for_dbfield(db_field, request, **options)

    def save_model(
        self, request: HttpRequest, obj: RemoteAgent, form: Any, change: bool
    ) -> None:
        before = RemoteAgent.objects.filter(pk=obj.pk).first() if change else None
        super().save_model(request, obj, form, change)
        if before is None:
            return
        if before.has_secret and not obj.has_secret:
            self.message_user(
                request, "The stored secret was removed.", messages.WARNING
            )
        if before.interface_url and not obj.interface_url:
            self.message_user(request, "The card was forgotten.", messages.WARNING)

    def response_add(
        self, request: HttpRequest, obj: RemoteAgent, *args: Any, **options: Any
    ) -> HttpResponse:
        return self._on_to_import(
            request, obj, super().response_add(request, obj, *args, **options)
        )

    def response_change(self, request: HttpRequest, obj: RemoteAgent) -> HttpResponse:
        response = super().response_change(request, obj)
        return self._on_to_import(request, obj, response)

    def _on_to_import(
        self, request: HttpRequest, agent: RemoteAgent, otherwise: HttpResponse
    ) -> HttpResponse:
        """Nothing can be done with an agent before its card is imported (C2)."""
        to_do = left_to_import(agent)
        goes_elsewhere = {"_addanother", "_continue"} & set(request.POST)
        if (
            goes_elsewhere
            or not to_do
            or not self.has_change_permission(request, agent)
        ):
            return otherwise
        self.message_user(request, to_do, messages.INFO)
        return redirect(import_url(agent))

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, **options: Any
    ) -> HttpResponse:
        agent = options.get("obj")
        if agent is not None:
            may_change = self.has_change_permission(request, agent)
            context["import_url"] = import_url(agent) if may_change else ""
            context["probe_url"] = self.probe_url(request, agent)
            context["calls_url"] = _calls_url(request, agent)
        return super().render_change_form(request, context, *args, **options)

    # --- Actions

    @admin.action(permissions=["change"], description="Import the card of the agent")
    def import_selected(
        self, request: HttpRequest, queryset: QuerySet[RemoteAgent]
    ) -> HttpResponse | None:
        chosen = list(queryset[:2])
        if len(chosen) == 1:
            return redirect(import_url(chosen[0]))
        self.message_user(
            request,
            "Choose one agent: what its card says is looked at before it is stored.",
            messages.WARNING,
        )
        return None

    # --- Cells

    @admin.display(description="host", empty_value=NOTHING)
    def host_shown(self, agent: RemoteAgent) -> str:
        return agent.host or NOTHING

    @admin.display(description="credential")
    def credential_shown(self, agent: RemoteAgent) -> str:
        if agent.credential_kind == CredentialKind.NONE:
            return "none"
        kind: str = agent.get_credential_kind_display()
        return kind if agent.has_secret else f"{kind}: missing"

    @admin.display(description="needs attention")
    def attention_shown(self, agent: Any) -> str:
        return attention.sentence(agent) or NOTHING

    @admin.display(description="active calls")
    def active_shown(self, agent: Any) -> str:
        return f"{agent.active_count} of {agent.max_active_calls}"

    @admin.display(description="what it says")
    def card_shown(self, agent: RemoteAgent) -> SafeString | str:
        facts = card_facts.of_stored(agent)
        if not facts:
            return "It has not been imported yet."
        return render_to_string("a2a_client/card_facts.html", {"facts": facts})

    @admin.display(description="interface's host")
    def confirmed_shown(self, agent: RemoteAgent) -> str:
        if not agent.interface_url:
            return NOTHING
        if agent.is_confirmed:
            return f"{agent.interface_origin} (confirmed)"
        return f"{agent.interface_origin} (not confirmed: nothing is sent there)"

    @admin.display(description="stored secret")
    def secret_shown(self, agent: RemoteAgent) -> str:
        return "a secret is stored" if agent.has_secret else "none"


def _without(fieldset: Any, *names: str) -> Any:
    title, options = fieldset
    return (title, {"fields": tuple(n for n in options["fields"] if n not in names)})


def _for_a_new_one(who: Any) -> Any:
    """What its card decides comes later."""
    return (
        (None, {"fields": ("name", "identifier", "card_url")}),
        (
            "Credential",
            {
                "fields": (
                    "credential_kind",
                    "credential_name",
                    "new_secret",
                    "token_url",
                    "scopes",
                )
            },
        ),
        who,
        ("What may be handed over", {"fields": ("description", "requires_approval")}),
        RemoteAgentAdmin.fieldsets[4],
    )


def _calls_url(request: HttpRequest, agent: RemoteAgent) -> str:
    if not request.user.has_perm(_SEES_CALLS):
        return ""
    url = reverse("admin:a2a_client_remotecall_changelist")
    return f"{url}?agent={agent.pk}"
