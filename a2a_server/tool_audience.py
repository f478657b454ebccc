"""Why runs of a client are not given a tool, for the tool's page in the admin (T2, T3).

The questions are those that are asked when a call is taken and when its run goes on; here
every answer counts, not the first alone. A few queries for a page, whatever the numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models import BooleanField, ExpressionWrapper, F, Q
from django.db.models.functions import Now
from django.urls import reverse

from a2a_server import skills
from a2a_server.models import Client, Profile
from agent_runs import availability
from agent_runs.registries import ToolAudience, register_tool_audience
from agent_runs.tools import grants

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_runs.tools.grants import ManagedTool

_EVERYTHING = slice(None)


def audience(
    tool: ManagedTool, *, named: str = "", part: slice = _EVERYTHING
) -> list[ToolAudience]:
    """A row for each client and skill that it holds, or for a client without a skill."""
    rows = list(_rows(named)[part])
    users = [row.technical_user for row in rows]
    permission = tool.tool.permission
    holders = grants.holders(permission, users) if permission else frozenset()
    admits = tool.tool.admits
    admitted = frozenset(admits({user.pk for user in users}) if admits else ())
    profiles = _profiles({row.held_id for row in rows} - {None})
    problems = {key: _profile_problems(tool, p) for key, p in profiles.items()}
    return [
        _judged(
            row,
            profiles.get(row.held_id),
            (
                *_client_problems(tool, row, holders, admitted),
                *problems.get(row.held_id, ("The client may call no skill.",)),
                *_pair_problems(tool, row, profiles.get(row.held_id)),
            ),
        )
        for row in rows
    ]


def _rows(named: str) -> Any:
    """Clients, once for each skill of theirs, whose key is `held_id`."""
    expired = ExpressionWrapper(Q(expires_at__lte=Now()), output_field=BooleanField())
    clients = Client.objects.filter(name__icontains=named) if named else Client.objects
    rows = clients.annotate(held_id=F("grants__profile_id"), is_expired=expired)
    rows = rows.select_related("technical_user")
    rows = rows.prefetch_related("technical_user__groups")
    return rows.order_by("name", "held_id")


def _profiles(keys: set[Any]) -> dict[Any, Profile]:
    found = Profile.objects.filter(pk__in=keys).select_related(
        "configuration__provider"
    )
    found = found.prefetch_related("configuration__allowed_groups")
    return {profile.pk: profile for profile in found}


def _judged(
    row: Any, profile: Profile | None, problems: tuple[str, ...]
) -> ToolAudience:
    return ToolAudience(
        who=row.name,
        skill=str(profile or ""),
        url=reverse("admin:a2a_server_client_change", args=[row.pk]),
        problems=problems,
    )


# --- Problems -------------------------------------------------------------------------


def _client_problems(
    tool: ManagedTool,
    row: Any,
    holders: frozenset[Any],
    admitted: frozenset[Any],
) -> Iterator[str]:
    if not row.is_enabled:
        yield "The client is not enabled."
    if row.is_expired:
        yield "The client has expired."
    if problem := availability.owner_problem(row.technical_user):
        yield problem
    yield from grants.problems(
        tool, row.technical_user, holders=holders, admitted=admitted
    )
    if tool.tool.effect.is_write:
        yield from _workspace_problems(tool, has_workspace=row.workspace_id is not None)


def _workspace_problems(tool: ManagedTool, *, has_workspace: bool) -> Iterator[str]:
    supports = tool.tool.supports_workspaces
    if supports and not has_workspace:
        yield "The client has no workspace."
    if not supports and has_workspace:
        yield "The tool writes live, and the client writes to a workspace."


def _profile_problems(tool: ManagedTool, profile: Profile) -> tuple[str, ...]:
    return tuple(_problems_of_profile(tool, profile))


def _problems_of_profile(tool: ManagedTool, profile: Profile) -> Iterator[str]:
    name = tool.tool.name
    if problem := next(iter(skills.problems(profile)), None):
        yield f"The skill is not offered: {problem[:1].lower()}{problem[1:]}"
    if not isinstance(profile.tools, list) or name not in profile.tools:
        yield "The tool is not in the skill's list."
    elif tool.tool.effect.is_write and not profile.may_write:
        yield "The tool writes, and the skill may not."


def _pair_problems(
    tool: ManagedTool, row: Any, profile: Profile | None
) -> Iterator[str]:
    if profile is None:
        return
    configuration = skills.configuration_of(profile)
    if configuration is not None and not availability.user_may_use(
        configuration, row.technical_user
    ):
        yield (
            "The technical user is in no group that may use the LLM configuration "
            f"«{configuration}»."
        )
    is_live = row.workspace_id is None
    if profile.may_write and is_live and not tool.tool.effect.is_write:
        # For a writing tool this was said already.
        yield "The skill may write, and the client has no workspace."


def register() -> None:
    register_tool_audience(audience, permission="a2a_server.view_client")
