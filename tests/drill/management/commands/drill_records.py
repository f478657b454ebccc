"""`manage.py drill_records JSON`: records for a test; prints the clients' tokens.

{"skills": {"<skill id>": {"handler": …, "quota": …, "model_url": …, "offline": …,
                          "tools": […], "may_write": …}},
 "clients": {"<name>": {"skills": […], "task_limit": …, "workspace": "<name>",
                        "permissions": ["<app>.<codename>"]}},
 "agents": {"<identifier>": {"url": …, "<column>": …}}}

Tools that a skill has are enabled, whatever they declare, and a skill that has some may
write if nothing else is said.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand

from a2a_server.models import Client
from agent_runs.models import ToolSetting, Workspace
from agent_runs.models.llm import ProviderKind
from tests import factories

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence

    from a2a_server.models import Profile
    from agent_runs.models import LLMConfiguration


class Command(BaseCommand):
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("records", type=json.loads)

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = options["records"]
        for identifier, values in wanted["agents"].items():
            factories.make_remote_agent(identifier=identifier, **values)
        skills = {
            skill_id: _make_skill(skill_id, **values)
            for skill_id, values in wanted["skills"].items()
        }
        clients = {
            name: _make_client(name, skills, **values)
            for name, values in wanted["clients"].items()
        }
        tokens = {
            name: factories.token_of(client).text for name, client in clients.items()
        }
        self.stdout.write(json.dumps(tokens))


def _make_skill(
    skill_id: str,
    *,
    handler: str = "llm.text",
    quota: int = 0,
    model_url: str = "",
    offline: str = "",
    tools: Sequence[str] = (),
    may_write: bool | None = None,
) -> Profile:
    for name in tools:
        ToolSetting.objects.update_or_create(name=name, defaults={"enabled": True})
    return factories.make_profile(
        skill_id,
        handler=handler,
        active_task_quota=quota,
        configuration=_make_configuration(model_url, offline),
        tools=list(tools),
        may_write=bool(tools) if may_write is None else may_write,
    )


def _make_configuration(model_url: str, offline: str) -> LLMConfiguration | None:
    if offline:
        return factories.make_configuration(model_name=offline)
    if not model_url:
        return None
    provider = factories.make_provider(
        kind=ProviderKind.OPENAI_COMPATIBLE, base_url=model_url, api_key="drill"
    )
    return factories.make_configuration(provider=provider, model_name="drill")


def _make_client(
    name: str,
    known: dict[str, Profile],
    *,
    skills: list[str],
    task_limit: int = 100,
    workspace: str = "",
    permissions: Sequence[str] = (),
) -> Client:
    # The factories count from one in every process.
    number = 1_000 + Client.objects.count()
    user = factories.make_user(f"user-of-{name}", permissions=permissions)
    return factories.make_client(
        name,
        token=factories.Token(number),
        technical_user=user,
        profiles=[known[skill_id] for skill_id in skills],
        task_limit=task_limit,
        workspace=_workspace(workspace) if workspace else None,
    )


def _workspace(name: str) -> Workspace:
    return Workspace.objects.get_or_create(name=name)[0]
