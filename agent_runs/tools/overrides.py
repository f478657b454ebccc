"""What an administrator changes about a tool, and whom a change touches (T2, P6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.core.exceptions import PermissionDenied

from agent_runs.models import AgentRun, ToolSetting
from agent_runs.models.run import WAITING_STATES

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

PERMISSION = "agent_runs.change_toolsetting"
# Waiting runs that a count looks through at most.
LOOKED_AT = 1_000


def override(
    name: str,
    *,
    enabled: bool | None,
    requires_approval: bool | None,
    user: AbstractBaseUser | AnonymousUser,
) -> None:
    """Say what counts for a tool; None: as it is declared."""
    if not user.has_perm(PERMISSION):  # type: ignore[union-attr]
        raise PermissionDenied
    values = {"enabled": enabled, "requires_approval": requires_approval}
    if enabled is None and requires_approval is None:
        ToolSetting.objects.filter(name=name).delete()
    else:
        ToolSetting.objects.update_or_create(name=name, defaults=values)


def waiting_with(name: str) -> tuple[int, bool]:
    """How many waiting runs were given the tool, and whether there may be more of them."""
    waiting = AgentRun.objects.filter(state__in=sorted(WAITING_STATES))
    # Read and not compared by the database: not every one looks into a JSON list.
    lists = list(waiting.values_list("tools", flat=True)[:LOOKED_AT])
    count = sum(isinstance(tools, list) and name in tools for tools in lists)
    return count, len(lists) == LOOKED_AT
