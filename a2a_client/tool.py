"""One tool for each enabled remote agent (C5, T2, T3).

Asked for at every segment, so that an agent is offered, changed or taken away without a
restart. Nothing of it is there while the client role is off.
"""

from __future__ import annotations

import logging
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from django.contrib.auth import get_user_model
from pydantic import BaseModel, ConfigDict, Field, create_model

from a2a_client import conf, delegation, importing, words
from a2a_client.models import RemoteAgent
from agent_runs.effects import Effect
from agent_runs.tools import contract
from agent_runs.tools.contract import Tool

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from a2a_protocol.types import AgentCard, AgentSkill
    from agent_runs.tools.contract import ToolCall

logger = logging.getLogger(__name__)

GROUP = "remote agents"
LONGEST_TASK = 50_000
_LONGEST_DESCRIPTION = 2_000
_LONGEST_SKILL = 300
# As the column holds it.
_LONGEST_SKILL_ID = 200
_MOST_SKILLS = 50


def tools() -> Iterable[Tool]:
    """Three queries, whatever the numbers."""
    if not conf.is_enabled():
        return []
    agents = RemoteAgent.objects.filter(is_enabled=True).exclude(interface_url="")
    agents = agents.prefetch_related("allowances").order_by("identifier")
    members = _Members()
    return [_tool(agent, members) for agent in agents if _has_name(agent)]


def _has_name(agent: RemoteAgent) -> bool:
    """An identifier that went past the form's rule takes no other tool away (P6)."""
    is_name = contract.is_tool_name(agent.tool_name)
    if not is_name:
        logger.error("remote agent is no tool", extra={"agent_id": agent.pk})
    return is_name


def _tool(agent: RemoteAgent, members: _Members) -> Tool:
    groups = frozenset(allowance.group_id for allowance in agent.allowances.all())
    card = importing.stored_card(agent)
    skills = _skills(agent, card)
    # Allowed ones that the card lacks by now are no reason to ask for others.
    named = tuple(skill.id for skill in skills) or tuple(agent.allowed_skills)
    return Tool(
        name=agent.tool_name,
        description=_description(agent, card, skills),
        parameters=_parameters(named, is_limited=bool(agent.allowed_skills)),
        effect=Effect.NON_IDEMPOTENT_WRITE,
        delegate=partial(delegation.delegate, agent),
        preview=partial(_preview, agent),
        group=GROUP,
        admits=partial(members.among, groups) if groups else None,
        needs_approval=agent.requires_approval,
        supports_workspaces=True,
        is_outside=True,
        # The agent's own switch is the one that ships off.
        enabled_by_default=True,
    )


class _Members:
    """Whose groups are which; asked once for the same users, for all tools together."""

    def __init__(self) -> None:
        self._groups: dict[frozenset[Any], dict[Any, set[Any]]] = {}

    def among(self, groups: frozenset[Any], users: Collection[Any]) -> Collection[Any]:
        """Of these users those that are in one of the groups, all by key."""
        known = self._of(frozenset(users))
        return {user for user, theirs in known.items() if theirs & groups}

    def _of(self, users: frozenset[Any]) -> dict[Any, set[Any]]:
        if users not in self._groups:
            found: dict[Any, set[Any]] = {}
            model = get_user_model()
            rows = model.objects.filter(pk__in=users, groups__isnull=False)
            for user, group in rows.values_list("pk", "groups"):
                found.setdefault(user, set()).add(group)
            self._groups[users] = found
        return self._groups[users]


# --- What the model is told -----------------------------------------------------------


def _skills(agent: RemoteAgent, card: AgentCard | None) -> list[AgentSkill]:
    """Those of the card that may be asked for, and whose ids a model can be told."""
    allowed = set(agent.allowed_skills)
    skills = [s for s in card.skills if s.id in allowed or not allowed] if card else []
    return [skill for skill in skills if _is_plain(skill.id)][:_MOST_SKILLS]


def _is_plain(skill: str) -> bool:
    return bool(skill) and words.one_line(skill, _LONGEST_SKILL_ID) == skill


def _description(
    agent: RemoteAgent, card: AgentCard | None, skills: Iterable[AgentSkill]
) -> str:
    """What an administrator wrote; else what the card says, marked as such."""
    told = agent.description
    if not told and card:
        told = f"It says of itself: {words.one_line(card.description, 500)}"
    lines = [f"Hands a task to the remote agent «{agent.name}». {told}".strip()]
    for skill in skills:
        said = words.one_line(f"{skill.name}: {skill.description}", _LONGEST_SKILL)
        lines.append(f"- skill {skill.id}: {said}")
    return words.lines("\n".join(lines), _LONGEST_DESCRIPTION)


# Tools are asked for with every message, and a class takes milliseconds to make.
@lru_cache(maxsize=256)
def _parameters(named: tuple[str, ...], *, is_limited: bool) -> type[BaseModel]:
    """Of an agent whose skills are limited, one of them has to be asked for."""
    skill: Any = Annotated[str, Field(max_length=_LONGEST_SKILL_ID)]
    if named:
        skill = Literal[named]
    return create_model(
        "Task",
        __config__=ConfigDict(extra="forbid"),
        task=(
            str,
            Field(
                min_length=1,
                max_length=LONGEST_TASK,
                description="Everything the agent needs to know; it sees nothing else.",
            ),
        ),
        skill=(
            skill if is_limited else skill | None,
            Field(
                default=... if is_limited else None,
                description="The skill of the agent to ask for.",
            ),
        ),
    )


def _preview(agent: RemoteAgent, call: ToolCall) -> str:
    arguments: Any = call.arguments
    skill = f", skill {arguments.skill}" if arguments.skill else ""
    return f"To {agent.name} at {agent.host}{skill}:\n{arguments.task}"
