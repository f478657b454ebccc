"""The newsroom's part of the demonstration: records to write to, and a skill that drafts.

Everything is made once, with the skill: what people change or take away later stays so.
A client that was there before is given the skill only while nobody has touched it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import Permission

from a2a_project.newsroom import drafting
from a2a_project.newsroom.models import Article, Section
from a2a_server import demo
from a2a_server.models import Client, ClientProfile, Profile
from agent_runs.models import ToolSetting, Workspace

if TYPE_CHECKING:
    from a2a_server.demo import Stage

WORKSPACE = "Newsroom"
SKILL = demo.Skill(
    skill_id=drafting.NAME,
    name="Article",
    description="Drafts an article from a title and a text, for one of the newsroom's "
    "sections. People look at the draft before it is published.",
    tags=("writing", "newsroom"),
    example="New bridge opened\nThe bridge over the river was opened on Monday.",
    tools=drafting.TOOLS,
    may_write=True,
)
SECTIONS = ("Culture", "Politics", "Science")
ARTICLES = (
    ("Culture", "The museum opens at night", "Once a month, until midnight."),
    ("Science", "A comet comes back", "It was last seen seventy years ago."),
)
_PERMISSIONS = ("add_article", "view_article", "view_section")


def seed(stage: Stage) -> tuple[str, ...]:
    """The skill's id, where the demonstration's client may call it."""
    if _may_be_made(stage):
        _make(stage)
    granted = Profile.objects.filter(
        skill_id=SKILL.skill_id,
        configuration__model_name=drafting.NAME,
        is_public=True,
        grants__client=stage.client,
    )
    return (SKILL.skill_id,) if granted.exists() else ()


def _may_be_made(stage: Stage) -> bool:
    known = Profile.objects.filter(skill_id__iexact=SKILL.skill_id)
    if stage.is_new:
        return not known.exclude(configuration__model_name=drafting.NAME).exists()
    was_made = Workspace.objects.filter(name=WORKSPACE).exists()
    return not was_made and not known.exists() and stage.is_untouched


def _make(stage: Stage) -> None:
    _make_records()
    _enable_tools()
    client = stage.client
    client.workspace, _ = Workspace.objects.get_or_create(name=WORKSPACE)
    client.save(update_fields=["workspace"])
    _permit(client)
    profile = demo.seed_skill(SKILL, stage.provider, position=len(demo.SKILLS))
    ClientProfile.objects.get_or_create(client=client, profile=profile)


def _make_records() -> None:
    if Section.objects.exists():
        return
    sections = {name: Section.objects.create(name=name) for name in SECTIONS}
    for section, title, text in ARTICLES:
        Article.objects.create(title=title, section=sections[section], text=text)


def _enable_tools() -> None:
    """Those that ship disabled; what an administrator has set stays as it is."""
    for name in (drafting.ASK, drafting.DRAFT):
        ToolSetting.objects.get_or_create(name=name, defaults={"enabled": True})


def _permit(client: Client) -> None:
    user: Any = client.technical_user
    permissions = Permission.objects.filter(
        content_type__app_label="newsroom", codename__in=_PERMISSIONS
    )
    user.user_permissions.add(*permissions)
