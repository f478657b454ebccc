"""What the admin of every configuration record has in common (P5, P6).

- A rule that a form's fields do not show speaks above the form, never as a traceback.
- A save that took something from clients says so.
- A record that others point to cannot be deleted, and the sentence counts them.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.actions import delete_selected
from django.contrib.admin.utils import unquote
from django.contrib.admin.widgets import RelatedFieldWidgetWrapper
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import transaction
from django.db.models import PROTECT, Count, ManyToOneRel, Model, ProtectedError
from django.shortcuts import redirect
from django.urls import reverse

from agent_runs import saving
from agent_runs.admin.typed import M, P, TypedAdmin, TypedForm, TypedInline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from django.db.models import QuerySet
    from django.http import HttpRequest, HttpResponse
    from django.http.response import HttpResponseBase


class RecordForm(TypedForm[M]):
    """A form that may show some of the record's fields only."""

    def add_error(self, field: str | None, error: Any) -> None:
        """Move what belongs to a field that is not shown to the top of the form."""
        problems = getattr(error, "error_dict", None)
        if field is None and problems is not None:
            shown: dict[str, list[ValidationError]] = {}
            for name, errors in problems.items():
                place = name if name in self.fields else NON_FIELD_ERRORS
                shown.setdefault(place, []).extend(errors)
            error = ValidationError(shown)
        super().add_error(field, error)

    def _post_clean(self) -> None:
        # A row of a list that nobody touched is not judged, and costs no query.
        is_new = self.instance._state.adding  # noqa: SLF001
        if is_new or self.has_changed():
            super()._post_clean()  # type: ignore[misc]


class _KeepsOthers:
    """Mixed into pages and inlines: no red cross beside a record that is only chosen."""

    def formfield_for_dbfield(self, *args: Any, **options: Any) -> Any:
        field = super().formfield_for_dbfield(*args, **options)  # type: ignore[misc]
        widget = getattr(field, "widget", None)
        if isinstance(widget, RelatedFieldWidgetWrapper):
            widget.can_delete_related = False
        return field


class RecordInline(_KeepsOthers, TypedInline[M, P]):
    form = RecordForm  # type: ignore[assignment]


class RecordAdmin(_KeepsOthers, TypedAdmin[M]):
    form = RecordForm  # type: ignore[assignment]
    change_list_template = "agent_runs/change_list.html"
    # What to do instead of deleting.
    way_out: ClassVar[str] = ""
    # What to show where there is no record yet.
    empty_list_hint: ClassVar[str] = ""
    # Names for what points here, by the relation's name, where the model's do not fit.
    pointers: ClassVar[Mapping[str, tuple[str, str]]] = {}
    actions = ["delete_selected"]

    class Media:
        css = {"all": ["agent_runs/admin.css"]}

    # --- Saving

    def get_changelist_form(self, request: HttpRequest, **kwargs: Any) -> Any:
        return super().get_changelist_form(request, **{"form": RecordForm} | kwargs)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        with self._telling_losses(request):
            return super().changeform_view(request, object_id, form_url, extra_context)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> Any:
        context = {"empty_list_hint": self.empty_list_hint} | (extra_context or {})
        with self._telling_losses(request):
            return super().changelist_view(request, context)

    @contextmanager
    def _telling_losses(self, request: HttpRequest) -> Iterator[None]:
        if request.method != "POST":
            yield
            return
        before = saving.offers()
        yield
        for sentence in saving.losses(before, saving.offers()):
            self.message_user(request, sentence, messages.WARNING)

    # --- Deleting

    def delete_view(
        self,
        request: HttpRequest,
        object_id: str,
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        record = self.get_object(request, unquote(object_id))
        if record is None or not self.has_delete_permission(request, record):
            return super().delete_view(request, object_id, extra_context)
        if refusals := self.deletion_refusals([record]):
            return self._refuse_deletion(request, record, refusals[0])
        try:
            with self._telling_losses(request):
                return super().delete_view(request, object_id, extra_context)
        except ProtectedError:
            # Something began to point here after the look.
            refusals = self.deletion_refusals([record])
            return self._refuse_deletion(request, record, *refusals)

    def _refuse_deletion(
        self, request: HttpRequest, record: M, refusal: str = "Nothing was deleted."
    ) -> HttpResponse:
        self.message_user(request, refusal, messages.ERROR)
        name = f"{self.opts.app_label}_{self.opts.model_name}_change"
        url = reverse(
            f"admin:{name}", args=[record.pk], current_app=self.admin_site.name
        )
        return redirect(url)

    @admin.action(
        permissions=["delete"], description="Delete selected %(verbose_name_plural)s"
    )
    def delete_selected(
        self, request: HttpRequest, queryset: QuerySet[M]
    ) -> HttpResponseBase | None:
        refusals = self.deletion_refusals(queryset)
        for refusal in refusals:
            self.message_user(request, refusal, messages.ERROR)
        if refusals:
            return None
        try:
            with transaction.atomic():
                return delete_selected(self, request, queryset)
        except ProtectedError:
            self.message_user(request, f"Nothing was deleted. {self.way_out}", "error")
            return None

    def deletion_refusals(self, records: Iterable[M]) -> list[str]:
        """A sentence for each record that something points to; a query a relation."""
        found: dict[Any, list[str]] = {}
        by_key = {record.pk: record for record in records}
        for relation in _protected_relations(self.model):
            for key, count in _pointing_to(by_key, relation):
                found.setdefault(key, []).append(self._counted(relation, count))
        return [
            f"«{by_key[key]}» is not deleted: it is still used by {_joined(counts)}. "
            f"{self.way_out}".strip()
            for key, counts in found.items()
        ]

    def _counted(self, relation: ManyToOneRel, count: int) -> str:
        opts = relation.related_model._meta
        names = (str(opts.verbose_name), str(opts.verbose_name_plural))
        singular, plural = self.pointers.get(str(relation.name), names)
        return f"{count} {singular if count == 1 else plural}"


def _protected_relations(model: type[Model]) -> list[ManyToOneRel]:
    return [
        relation
        for relation in model._meta.related_objects
        if isinstance(relation, ManyToOneRel) and relation.on_delete is PROTECT
    ]


def _pointing_to(keys: Iterable[Any], relation: ManyToOneRel) -> Iterable[Any]:
    """Pairs of a key and how many rows of the relation hold it."""
    # The manager that sees every row, whatever `objects` of that model leaves out.
    rows = relation.related_model._base_manager  # noqa: SLF001
    column = relation.field.attname
    held = rows.filter(**{f"{column}__in": list(keys)}).order_by()
    counts: Iterable[Any] = held.values_list(column).annotate(count=Count("pk"))
    return counts


def _joined(words: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
