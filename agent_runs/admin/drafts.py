"""Drafts, and whether they become live (T15, T16).

Whoever may view drafts sees all of them; a member of a workspace sees those of it.
Publishing and discarding need their permissions from either.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.utils import flatten_fieldsets, unquote
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Exists, OuterRef
from django.http import Http404, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import NoReverseMatch, path, reverse
from django.utils.html import format_html

from agent_runs import workspaces
from agent_runs.admin.awaited import plainly
from agent_runs.admin.fields import NOTHING
from agent_runs.admin.highlighting import marked
from agent_runs.admin.history import HistoryAdmin
from agent_runs.encryption import EncryptionError
from agent_runs.models import Draft, DraftKind, DraftState, Workspace
from agent_runs.workspaces import PublishRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from django.db.models import Model, QuerySet
    from django.http import HttpRequest, HttpResponse
    from django.urls import URLPattern
    from django.utils.safestring import SafeString

_VIEW = "agent_runs.view_draft"
_ENCRYPTED = ("values", "before")
_ALL = "all"
# What a fixture, another release or a model that is gone may have left.
_UNREADABLE = (
    EncryptionError,
    ValidationError,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
)


def visible_workspaces(request: HttpRequest) -> QuerySet[Workspace]:
    """Those whose drafts this person may see."""
    if request.user.has_perm(_VIEW):
        return Workspace.objects.all()
    return Workspace.objects.filter(members=request.user.pk)


# --- Filters --------------------------------------------------------------------------


class StateFilter(admin.SimpleListFilter):
    """Without a choice the open ones, which somebody has to decide about."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        decided = [DraftState.PUBLISHED, DraftState.DISCARDED]
        return [*((str(s), str(s.label)) for s in decided), (_ALL, "All")]

    def choices(self, changelist: Any) -> Iterator[Any]:
        everything, *others = super().choices(changelist)
        yield {**everything, "display": DraftState.OPEN.label}
        yield from others

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.value()
        if chosen == _ALL:
            return queryset
        known = chosen in DraftState.values
        return queryset.filter(state=chosen if known else DraftState.OPEN)


class _PresentFilter(admin.SimpleListFilter):
    """Choices that some visible draft has; each is looked up, none is counted."""

    def present(self, request: HttpRequest) -> QuerySet[Any]:
        raise NotImplementedError

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(each.pk), str(each)) for each in self.present(request)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in dict(self.lookup_choices):
            return queryset
        return queryset.filter(**{str(self.parameter_name): self.value()})


class ModelFilter(_PresentFilter):
    title = "model"
    parameter_name = "content_type"

    def present(self, request: HttpRequest) -> QuerySet[Any]:
        drafts = Draft.objects.filter(
            content_type=OuterRef("pk"), workspace__in=visible_workspaces(request)
        )
        types = ContentType.objects.filter(Exists(drafts))
        return types.order_by("app_label", "model")


class WorkspaceFilter(_PresentFilter):
    title = "workspace"
    parameter_name = "workspace"

    def present(self, request: HttpRequest) -> QuerySet[Any]:
        return visible_workspaces(request).order_by("name")


# --- Pages ----------------------------------------------------------------------------


@admin.register(Draft)
class DraftAdmin(HistoryAdmin[Draft]):
    list_display = (
        "title",
        "kind",
        "workspace",
        "state",
        "run_link",
        "created_at",
        "decided_by",
    )
    list_filter = (StateFilter, ModelFilter, WorkspaceFilter)
    list_select_related = ("content_type", "workspace", "decided_by")
    ordering = ("-created_at", "-id")
    change_form_template = "agent_runs/draft.html"
    empty_list_hint = (
        "No open draft. A run of a client with a workspace writes drafts there, and "
        "nothing of them is live until a person publishes it."
    )
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "title",
                    "kind",
                    "record_link",
                    "state",
                    "workspace_shown",
                    "run_link",
                )
            },
        ),
        ("What it writes", {"fields": ("differences_shown",)}),
        (
            "Times",
            {"fields": ("created_at", "changed_at", "decided_at", "decided_by")},
        ),
    )

    # --- Who sees what

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        if super().has_view_permission(request, obj):
            return True
        if not self.admin_site.has_permission(request):
            # A stranger's log-in page asks the database nothing.
            return False
        own = visible_workspaces(request)
        if obj is not None:
            own = own.filter(pk=obj.workspace_id)
        return own.exists()

    def has_module_permission(self, request: HttpRequest) -> bool:
        return super().has_module_permission(request) or self.has_view_permission(
            request
        )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Draft]:
        drafts = super().get_queryset(request).defer(*_ENCRYPTED)
        if request.user.has_perm(_VIEW):
            return drafts
        return drafts.filter(workspace__in=visible_workspaces(request))

    def get_readonly_fields(
        self, request: HttpRequest, obj: Draft | None = None
    ) -> list[str]:
        return [str(name) for name in flatten_fieldsets(self.fieldsets)]

    # --- Cells

    @admin.display(description="record")
    def title(self, draft: Draft) -> str:
        return workspaces.title_of(draft)

    @admin.display(description="run")
    def run_link(self, draft: Draft) -> SafeString | str:
        if draft.run_id is None:
            return NOTHING
        url = reverse("admin:agent_runs_agentrun_change", args=[draft.run_id])
        return format_html('<a href="{}">{}</a>', url, str(draft.run_id)[:8])

    @admin.display(description="workspace")
    def workspace_shown(self, draft: Draft) -> str:
        return draft.workspace.name

    @admin.display(description="live record")
    def record_link(self, draft: Draft) -> SafeString | str:
        if not draft.object_id:
            return "none yet"
        url = _page_of(draft.content_type, draft.object_id)
        shown = workspaces.title_of(draft)
        return format_html('<a href="{}">{}</a>', url, shown) if url else shown

    @admin.display(description="differences")
    def differences_shown(self, draft: Draft) -> SafeString | str:
        rows = _rows_of(draft)
        if rows is None:
            return "Stored in a form that cannot be shown here."
        context = {"rows": rows, "is_new": draft.kind == DraftKind.CREATE}
        return render_to_string("agent_runs/differences.html", context)

    # --- Deciding

    def get_urls(self) -> list[URLPattern]:
        wrap, name = self.admin_site.admin_view, "agent_runs_draft"
        return [
            path(
                "<path:object_id>/publish/",
                wrap(self.publish_view),
                name=f"{name}_publish",
            ),
            path(
                "<path:object_id>/discard/",
                wrap(self.discard_view),
                name=f"{name}_discard",
            ),
            *super().get_urls(),
        ]

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, **options: Any
    ) -> HttpResponse:
        draft = options.get("obj")
        if draft is not None and draft.state == DraftState.OPEN:
            context |= _decision(request, draft)
        return super().render_change_form(request, context, *args, **options)

    def publish_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._decide(request, object_id, self._publish)

    def discard_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._decide(request, object_id, self._discard)

    def _decide(
        self,
        request: HttpRequest,
        object_id: str,
        decide: Callable[[HttpRequest, Draft], None],
    ) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        draft = self.get_object(request, unquote(object_id))
        if not self.has_view_permission(request, draft):
            raise PermissionDenied
        if draft is None:
            raise Http404
        try:
            decide(request, draft)
        except PublishRefused as refusal:
            self.message_user(request, str(refusal), messages.ERROR)
        return redirect(reverse("admin:agent_runs_draft_change", args=[draft.pk]))

    def _publish(self, request: HttpRequest, draft: Draft) -> None:
        seen_at = _seen_at(request)
        record = workspaces.publish(draft.pk, user=_person(request), seen_at=seen_at)
        self.log_change(request, draft, "Published.")
        self.message_user(request, _published(draft, record), messages.SUCCESS)

    def _discard(self, request: HttpRequest, draft: Draft) -> None:
        workspaces.discard(draft.pk, user=_person(request))
        self.log_change(request, draft, "Discarded.")
        self.message_user(request, "The draft was discarded.", messages.SUCCESS)


def _person(request: HttpRequest) -> Any:
    """Whom the admin let in; never somebody anonymous."""
    return request.user


def _seen_at(request: HttpRequest) -> datetime:
    """When what the page showed was written; nothing is published unseen."""
    try:
        return datetime.fromisoformat(request.POST.get("seen_at", ""))
    except ValueError:
        raise PublishRefused("Open the draft and publish it from its page.") from None


def _decision(request: HttpRequest, draft: Draft) -> dict[str, Any]:
    """What the page offers about an open draft, and why not more."""
    user, names = request.user, ("publish", "discard")
    problem = workspaces.permission_problem(draft, user) or _outdated(draft)
    may_discard = user.has_perm(workspaces.PERMISSION)
    urls = [
        reverse(f"admin:agent_runs_draft_{name}", args=[draft.pk]) for name in names
    ]
    return {
        "is_open": True,
        "publish_problem": problem,
        "publish_url": "" if problem else urls[0],
        "discard_url": urls[1] if may_discard else "",
        "seen_at": draft.changed_at.isoformat(),
        "draft_title": workspaces.title_of(draft),
    }


def _outdated(draft: Draft) -> str:
    try:
        return workspaces.outdated(draft)
    except _UNREADABLE:
        return "The draft cannot be compared with the live record."


def _rows_of(draft: Draft) -> list[dict[str, Any]] | None:
    try:
        found = workspaces.differences(draft)
    except _UNREADABLE:
        return None
    rows = []
    for difference in found:
        before, after = marked(plainly(difference.before), plainly(difference.after))
        rows.append({"label": difference.label, "before": before, "after": after})
    return rows


def _page_of(content_type: ContentType, object_id: str) -> str:
    """The record's own page in the admin; empty where it has none."""
    name = f"admin:{content_type.app_label}_{content_type.model}_change"
    try:
        return reverse(name, args=[object_id])
    except NoReverseMatch:
        return ""


def _published(draft: Draft, record: Model) -> SafeString:
    url = _page_of(draft.content_type, str(record.pk))
    if not url:
        return format_html("«{}» is live now.", record)
    return format_html('«<a href="{}">{}</a>» is live now.', url, record)
