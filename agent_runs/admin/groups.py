"""Groups of people: Django's own page, which does not delete what a configuration names.

Without its last group a configuration would be everyone's.
"""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.models import Group

from agent_runs.admin.deleting import KeptWhileUsed

admin.site.unregister(Group)


@admin.register(Group)
class GroupAdmin(KeptWhileUsed[Group], DjangoGroupAdmin):
    way_out = (
        "Take it from their allowed groups first; a configuration without any is open to "
        "everyone."
    )
    pointers = {
        "configuration_allowances": ("LLM configuration", "LLM configurations"),
    }
