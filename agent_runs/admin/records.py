"""What the admin of every configuration record has in common (P5, P6).

- A rule that a form's fields do not show speaks above the form, never as a traceback.
- A save that took something from clients says so.
- A record that others point to is not deleted (`agent_runs.admin.deleting`).
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import messages
from django.contrib.admin.widgets import RelatedFieldWidgetWrapper
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError

from agent_runs import saving
from agent_runs.admin.deleting import KeptWhileUsed
from agent_runs.admin.typed import M, P, TypedForm, TypedInline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.http import HttpRequest


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


class RecordAdmin(_KeepsOthers, KeptWhileUsed[M]):
    form = RecordForm  # type: ignore[assignment]
    change_list_template = "agent_runs/change_list.html"
    # What to show where there is no record yet.
    empty_list_hint: ClassVar[str] = ""

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

    def delete_view(self, request: HttpRequest, *args: Any, **options: Any) -> Any:
        with self._telling_losses(request):
            return super().delete_view(request, *args, **options)
