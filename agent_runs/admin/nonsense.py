"""Parameters that nobody's browser sends by itself: answered as Django answers others.

Django hands some of them to the database unseen: a column's value in the address of a
list, and the ids of chosen rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import BadRequest, ValidationError
from django.db import DataError

from agent_runs.admin.typed import M, TypedAdmin

if TYPE_CHECKING:
    from django.http import HttpRequest


class SteadyAdmin(TypedAdmin[M]):
    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """The list without its parameters, where the database takes no such value."""
        try:
            return super().get_changelist_instance(request)
        except (ValueError, DataError) as error:
            raise IncorrectLookupParameters from error

    def response_action(
        self, request: HttpRequest, queryset: Any, *args: Any, **options: Any
    ) -> Any:
        for chosen in request.POST.getlist(ACTION_CHECKBOX_NAME):
            try:
                self.opts.pk.to_python(chosen)
            except ValidationError as error:
                raise BadRequest("A chosen row has no such id.") from error
        return super().response_action(request, queryset, *args, **options)
