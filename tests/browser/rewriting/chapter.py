"""Gives the demonstration's client a skill that changes articles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import Permission

from a2a_server import demo
from a2a_server.models import ClientProfile
from tests.browser.rewriting import script

if TYPE_CHECKING:
    from a2a_server.demo import Stage

SKILL = demo.Skill(
    skill_id=script.NAME,
    name="Rewriting",
    description="Proposes another text for an article.",
    tags=("writing",),
    example="The museum opens at night\nTwice a month, until midnight.",
    tools=script.TOOLS,
    may_write=True,
)


def seed(stage: Stage) -> tuple[str, ...]:
    user: Any = stage.client.technical_user
    user.user_permissions.add(Permission.objects.get(codename="change_article"))
    profile = demo.seed_skill(SKILL, stage.provider, position=9)
    ClientProfile.objects.get_or_create(client=stage.client, profile=profile)
    return (SKILL.skill_id,)
