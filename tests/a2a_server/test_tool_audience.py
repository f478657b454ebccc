from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from a2a_server import tool_audience
from agent_runs import clock
from agent_runs.effects import Effect
from agent_runs.tools.contract import Tool, Written
from agent_runs.tools.grants import ManagedTool
from tests import factories
from tests.a2a_server.test_rules import NoParameters, make_tool

if TYPE_CHECKING:
    from pytest_django import DjangoAssertNumQueries

    from agent_runs.tools.contract import ToolCall

pytestmark = pytest.mark.django_db

NEEDED = "agent_runs.view_workspace"


def _write(call: ToolCall) -> Written:
    return Written(content="", writes=())


def reader(*, permission: str = "") -> ManagedTool:
    tool = make_tool("reader", Effect.READ_ONLY)
    return managed(tool, permission=permission)


def writer(*, supports_workspaces: bool = True) -> ManagedTool:
    tool = Tool(
        name="writer",
        description="Writes.",
        parameters=NoParameters,
        effect=Effect.NON_IDEMPOTENT_WRITE,
        write=_write,
        supports_workspaces=supports_workspaces,
    )
    return managed(tool)


def managed(tool: Tool, **values: Any) -> ManagedTool:
    tool = dataclasses.replace(tool, **values)
    return ManagedTool(tool=tool, declared=tool, is_enabled=True)


def problems(tool: ManagedTool) -> tuple[str, ...]:
    (found,) = tool_audience.audience(tool)
    return found.problems


def make_writing_client(**values: Any) -> Any:
    profile = factories.make_profile(tools=["writer"], may_write=True)
    return factories.make_client(profiles=[profile], **values)


def test_a_row_for_each_skill_of_a_client() -> None:
    """T2: what is offered has no problem."""
    one = factories.make_profile("one", tools=["reader"])
    two = factories.make_profile("two", tools=["reader"])
    factories.make_client("bot", profiles=[one, two])

    found = tool_audience.audience(reader())

    assert [(row.who, row.skill) for row in found] == [
        ("bot", "One (one)"),
        ("bot", "Two (two)"),
    ]
    assert not any(row.problems for row in found)


def test_a_client_without_a_skill_is_not_forgotten() -> None:
    factories.make_client("bot")

    assert problems(reader()) == ("The client may call no skill.",)


def test_a_client_that_is_off_or_expired_is_given_nothing() -> None:
    profile = factories.make_profile(tools=["reader"])
    past = clock.database_now() - timedelta(seconds=1)
    factories.make_client(profiles=[profile], is_enabled=False, expires_at=past)

    assert problems(reader()) == (
        "The client is not enabled.",
        "The client has expired.",
    )


def test_a_technical_user_that_is_off_is_given_nothing() -> None:
    """R19."""
    profile = factories.make_profile(tools=["reader"])
    user = factories.make_user("sleeper", is_active=False)
    factories.make_client(profiles=[profile], technical_user=user)

    assert problems(reader()) == ("The technical user «sleeper» is not active.",)


def test_a_missing_permission_is_named() -> None:
    """T3."""
    profile = factories.make_profile(tools=["reader"])
    user = factories.make_user("bare")
    factories.make_client(profiles=[profile], technical_user=user)

    assert problems(reader(permission=NEEDED)) == (
        f"The technical user «bare» lacks the permission {NEEDED}.",
    )


@pytest.mark.parametrize("has_group", [False, True], ids=["own", "of-a-group"])
def test_a_permission_may_be_the_users_or_a_groups(has_group: bool) -> None:
    """T3."""
    profile = factories.make_profile(tools=["reader"])
    holder = factories.make_user(permissions=[NEEDED])
    user = factories.make_user() if has_group else holder
    if has_group:
        group = factories.make_group(members=[user])
        group.permissions.set(holder.user_permissions.all())
    factories.make_client(profiles=[profile], technical_user=user)

    assert problems(reader(permission=NEEDED)) == ()


def test_a_skill_may_not_list_the_tool() -> None:
    profile = factories.make_profile(tools={"no": "list"})
    factories.make_client(profiles=[profile])

    assert problems(reader()) == (
        "The skill is not offered: its tools are not a list of texts.",
        "The tool is not in the skill's list.",
    )


def test_a_skill_that_only_reads_is_given_no_writing_tool() -> None:
    """T3."""
    profile = factories.make_profile(tools=["writer"])
    factories.make_client(profiles=[profile], workspace=factories.make_workspace())

    assert problems(writer()) == ("The tool writes, and the skill may not.",)


def test_a_writing_tool_needs_a_workspace() -> None:
    """T15."""
    make_writing_client()

    assert problems(writer()) == ("The client has no workspace.",)


def test_a_tool_that_writes_live_is_not_for_a_workspace() -> None:
    """T15."""
    make_writing_client(workspace=factories.make_workspace())

    assert problems(writer()) == ()
    assert problems(writer(supports_workspaces=False)) == (
        "The tool writes live, and the client writes to a workspace.",
    )


def test_a_writing_skill_of_a_live_client_reads_nothing_either() -> None:
    profile = factories.make_profile(tools=["reader"], may_write=True)
    factories.make_client(profiles=[profile])

    assert problems(reader()) == (
        "The skill may write, and the client has no workspace.",
    )


def test_a_configurations_groups_count() -> None:
    configuration = factories.make_configuration(name="Inner")
    configuration.allowed_groups.add(factories.make_group())
    profile = factories.make_profile(tools=["reader"], configuration=configuration)
    factories.make_client(profiles=[profile])

    assert problems(reader()) == (
        "The technical user is in no group that may use the LLM configuration «Inner».",
    )


def test_asks_the_same_queries_whatever_the_numbers(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    for _ in range(15):
        profile = factories.make_profile(tools=["reader"])
        user = factories.make_user(permissions=[NEEDED])
        factories.make_client(profiles=[profile], technical_user=user)

    with django_assert_max_num_queries(5):
        found = tool_audience.audience(reader(permission=NEEDED))

    assert not any(row.problems for row in found)
