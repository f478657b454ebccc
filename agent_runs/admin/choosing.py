"""Fields in which several things are chosen, as the admin's forms have them."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.admin.widgets import FilteredSelectMultiple
from django.contrib.auth.models import Group


class NamesField(forms.MultipleChoiceField):
    """Boxes to tick for the names that a JSON column lists."""

    widget = forms.CheckboxSelectMultiple

    def prepare_value(self, value: Any) -> list[str]:
        # What a fixture stored may be no list; it is shown as it is and can be mended.
        if isinstance(value, list):
            return [str(name) for name in value]
        return [str(value)] if value else []

    def has_changed(self, initial: Any, data: Any) -> bool:
        return set(self.prepare_value(initial)) != set(data or [])


class ChoosesGroups:
    """Mixed into pages of records whose only many-to-many field is their groups."""

    def formfield_for_manytomany(
        self, db_field: Any, *args: Any, **options: Any
    ) -> Any:
        """The groups, chosen as users are given theirs; a row is no more than its ends."""
        widget = FilteredSelectMultiple(db_field.verbose_name, is_stacked=False)
        groups = Group.objects.order_by("name")
        return db_field.formfield(queryset=groups, widget=widget)
