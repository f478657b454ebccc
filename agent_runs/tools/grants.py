"""Which tools a run may use, and why not the others (T2, T3).

Registered, enabled, listed by the skill, read-only unless the skill may write, permitted
to the technical user: all five, asked anew whenever it matters, since each may be taken
away at any time. The skill's part is its own package's; the rest is judged here.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib.auth import get_backends, get_user_model
from django.contrib.auth.backends import ModelBackend

from agent_runs import availability
from agent_runs.models import ToolSetting
from agent_runs.tools import registry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from django.contrib.auth.models import AbstractBaseUser

    from agent_runs.tools.contract import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedTool:
    """A registered tool with what the administrator made of it.

    `tool.needs_approval` is as it counts now, `declared` is as its code has it.
    """

    tool: Tool
    declared: Tool
    is_enabled: bool


def managed() -> dict[str, ManagedTool]:
    """Every registered tool by name, in the order of names; one query."""
    known = registry.all_tools()
    settings = {each.name: each for each in ToolSetting.objects.all()} if known else {}
    return {name: _managed(known[name], settings.get(name)) for name in sorted(known)}


def _managed(tool: Tool, setting: ToolSetting | None) -> ManagedTool:
    enabled, approval = bool(tool.enabled_by_default), tool.needs_approval
    if setting is not None and setting.enabled is not None:
        enabled = setting.enabled
    if setting is not None and setting.requires_approval is not None:
        # A question waits for its answer; there is nothing in it to approve.
        approval = setting.requires_approval and not tool.asks_client
    counted = dataclasses.replace(tool, needs_approval=approval)
    return ManagedTool(tool=counted, declared=tool, is_enabled=enabled)


def offered(names: Iterable[str], user: AbstractBaseUser | None) -> dict[str, Tool]:
    """Of these tools, those that a run of this user is given now. Uses the ORM."""
    listed = set(names)
    if not listed:
        return {}
    return {
        name: each.tool
        for name, each in managed().items()
        if name in listed and not problems(each, user)
    }


def fit_user(user_id: Any) -> AbstractBaseUser | None:
    """The user as stored at this moment, if a run may act as them (R19)."""
    user = get_user_model().objects.filter(pk=user_id).first()
    return None if availability.owner_problem(user) else user


def problems(
    each: ManagedTool,
    user: AbstractBaseUser | None,
    *,
    holders: Collection[Any] | None = None,
    admitted: Collection[Any] | None = None,
) -> list[str]:
    """Why runs of this user are not given a registered tool, for administrators.

    `holders` are the keys of those with the tool's permission, `admitted` of those whom
    the tool itself admits, where that was asked for many users at once.
    """
    found = []
    if not each.is_enabled:
        found.append("The tool is not enabled.")
    permission = each.tool.permission
    if user is None:
        return [*found, "There is no technical user."]
    name = user.get_username()
    if permission and not _holds(user, permission, holders):
        found.append(f"The technical user «{name}» lacks the permission {permission}.")
    if each.tool.admits and user.pk not in (
        each.tool.admits([user.pk]) if admitted is None else admitted
    ):
        found.append(f"The technical user «{name}» is in none of the tool's groups.")
    return found


def _holds(
    user: AbstractBaseUser, permission: str, holders: Collection[Any] | None
) -> bool:
    if holders is not None:
        return user.pk in holders
    return bool(user.has_perm(permission))  # type: ignore[attr-defined]


def holders(permission: str, users: Iterable[AbstractBaseUser]) -> frozenset[Any]:
    """The keys of those of many users who have a permission.

    One query where Django's own backend alone judges; else each user is asked.
    """
    asked = {user.pk: user for user in users}
    if permission.count(".") != 1 or not _only_django_judges():
        found = (user for user in asked.values() if user.has_perm(permission))  # type: ignore[attr-defined]
        return frozenset(user.pk for user in found)
    holding = ModelBackend().with_perm(permission).filter(pk__in=list(asked))
    return frozenset(holding.values_list("pk", flat=True))


def _only_django_judges() -> bool:
    return all(type(backend) is ModelBackend for backend in get_backends())


def withdrawn(given: Collection[str], now: Collection[str]) -> str | None:
    """What a run was given and would not be given any more, as a sentence (S73)."""
    gone = sorted(set(given) - set(now))
    return f"It may not use {', '.join(gone)} any more." if gone else None
