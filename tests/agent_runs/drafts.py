"""A newsroom, a run that may draft in it, and its tools called as the loop calls them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import Permission, User
from django.db import transaction
from pydantic_ai.messages import ToolCallPart

from a2a_project.newsroom.models import Article, Section
from agent_runs.models import AgentRun, Draft
from agent_runs.tools import builtin, gate
from agent_runs.tools.contract import Tool, ToolCall
from tests import factories

if TYPE_CHECKING:
    from pytest_django.fixtures import SettingsWrapper

READABLE = {
    "newsroom.article": ("title", "section", "text"),
    "newsroom.section": ("name",),
}
WRITABLE = {"newsroom.article": ("title", "section", "text")}
MAY_ALL = (
    "newsroom.view_article",
    "newsroom.view_section",
    "newsroom.add_article",
    "newsroom.change_article",
)
MAY_PUBLISH = ("agent_runs.publish_draft", *MAY_ALL)


def allow(settings: SettingsWrapper) -> None:
    settings.AGENT_RUNS_READABLE_MODELS = READABLE
    settings.AGENT_RUNS_WRITABLE_MODELS = WRITABLE


def make_section(name: str = "Politics") -> Section:
    return Section.objects.get_or_create(name=name)[0]


def make_article(title: str = "Old", **values: Any) -> Article:
    if "section" not in values:
        values["section"] = make_section()
    return Article.objects.create(title=title, **{"text": "As it was."} | values)


def make_run(*permissions: str, **values: Any) -> AgentRun:
    """Running, in a workspace, by an owner who may all unless told otherwise."""
    owner = factories.make_user(permissions=permissions or MAY_ALL)
    defaults = {"owner": owner, "workspace": factories.make_workspace()}
    return factories.make_run("running", **defaults | values)


def make_draft(
    run: AgentRun | None = None, record_id: str = "", **values: Any
) -> Draft:
    """As the tool stores it: a new article, or a change of the one that is named."""
    if not record_id:
        text = {"title": "New", "text": "News.", "section": make_section().pk}
        values = text | values
    result = drafted(run or make_run(), values, record_id=record_id)
    return Draft.objects.get(id=result["draft"].removeprefix("draft:"))


def publisher(*permissions: str) -> User:
    return factories.make_user(permissions=permissions or MAY_PUBLISH)


def take(user: User, permission: str) -> User:
    """The user as the next request finds them, without a permission."""
    codename = permission.split(".")[1]
    user.user_permissions.remove(Permission.objects.get(codename=codename))
    return User.objects.get(pk=user.pk)


# --- Calls ----------------------------------------------------------------------------


def tool_named(name: str) -> Tool:
    return next(tool for tool in builtin.tools() if tool.name == name)


def call(run: AgentRun, name: str, **arguments: Any) -> dict[str, Any]:
    """What a reading tool gives; raises `ToolError`."""
    tool = tool_named(name)
    assert tool.execute
    part = part_of(name, arguments)
    request = ToolCall(run=run, call_id="c1", arguments=gate.parse(part, tool))
    result: dict[str, Any] = json.loads(str(tool.execute(request)))
    return result


def part_of(name: str, arguments: dict[str, Any]) -> ToolCallPart:
    return ToolCallPart(name, json.dumps(arguments), "c1")


def write(
    run: AgentRun, values: Any, *, record_id: str = "", model: str = "newsroom.article"
) -> tuple[gate.ToolResult, Any]:
    arguments = {"model": model, "id": record_id, "values": values}
    with transaction.atomic():
        return gate.write(
            run, part_of("draft_record", arguments), tool_named("draft_record")
        )


def drafted(
    run: AgentRun, values: Any, *, record_id: str = "", model: str = "newsroom.article"
) -> dict[str, Any]:
    """What the model is told of a draft that was stored."""
    result, written = write(run, values, record_id=record_id, model=model)
    assert written, result.content
    told: dict[str, Any] = json.loads(result.content)
    return told


def refusal(
    run: AgentRun, values: Any, *, record_id: str = "", model: str = "newsroom.article"
) -> str:
    """What the model is told where nothing was stored."""
    before = Draft.objects.count()
    result, written = write(run, values, record_id=record_id, model=model)
    assert (written, result.outcome) == (None, "failed"), result.content
    assert Draft.objects.count() == before
    return result.content


def preview(run: AgentRun, values: Any, *, record_id: str = "") -> list[str]:
    arguments = {"model": "newsroom.article", "id": record_id, "values": values}
    part = part_of("draft_record", arguments)
    return gate.preview(run, part, tool_named("draft_record")).splitlines()
