"""What others point to is not deleted, and a sentence counts them (P5).

The database refuses it as well; here people are told before they confirm, and what to do
instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.actions import delete_selected
from django.contrib.admin.utils import unquote
from django.db import transaction
from django.db.models import PROTECT, Count, ManyToOneRel, Model, ProtectedError
from django.shortcuts import redirect
from django.urls import reverse

from agent_runs.admin.nonsense import SteadyAdmin
from agent_runs.admin.typed import M

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from django.db.models import QuerySet
    from django.http import HttpRequest, HttpResponse
    from django.http.response import HttpResponseBase


class KeptWhileUsed(SteadyAdmin[M]):
    # What to do instead of deleting.
    way_out: ClassVar[str] = ""
    # Names for what points here, by the relation's name, where the model's do not fit.
    pointers: ClassVar[Mapping[str, tuple[str, str]]] = {}
    actions = ["delete_selected"]

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
