from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.backends import BaseBackend
from pydantic import BaseModel

from agent_runs.effects import Effect
from agent_runs.models import ToolSetting
from agent_runs.questions import Question
from agent_runs.tools import grants, registry
from agent_runs.tools.contract import Tool, ToolCall
from tests import factories

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pytest_django import DjangoAssertNumQueries
    from pytest_django.fixtures import SettingsWrapper

pytestmark = pytest.mark.django_db


class NoArguments(BaseModel):
    pass


async def _execute(call: ToolCall) -> str:
    return ""


def _tool(name: str, **values: object) -> Tool:
    defaults = {"effect": Effect.READ_ONLY, "description": name}
    if "question" not in values:
        defaults["execute"] = _execute
    return Tool(name=name, parameters=NoArguments, **defaults | values)  # type: ignore[arg-type]


def _tools() -> list[Tool]:
    return [
        _tool("open"),
        _tool("decide", permission="agent_runs.decide_run"),
        _tool("unlisted"),
        _tool("off", enabled_by_default=False),
        _tool(
            "ask",
            enabled_by_default=True,
            question=lambda arguments: Question(text="Which?"),
        ),
    ]


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    registry.register_provider(_tools)
    yield
    registry.unregister_provider(_tools)


LISTED = ["open", "decide", "off", "ask", "gone"]


@pytest.mark.parametrize(
    ("permissions", "offered"),
    [
        ([], {"open", "ask"}),
        (["agent_runs.decide_run"], {"open", "ask", "decide"}),
    ],
    ids=["without", "with"],
)
def test_offers_what_is_listed_registered_enabled_and_permitted(
    permissions: list[str], offered: set[str]
) -> None:
    """T3."""
    owner = factories.make_user(permissions=permissions)

    assert set(grants.offered(LISTED, owner)) == offered


def test_a_run_without_its_owner_gets_no_tool() -> None:
    assert grants.offered(LISTED, None) == {}


def test_the_user_is_the_one_stored_at_this_moment() -> None:
    """T3: what an instance remembers of its permissions does not count."""
    user = factories.make_user(permissions=["agent_runs.decide_run"])
    assert user.has_perm("agent_runs.decide_run")

    user.user_permissions.clear()

    assert grants.offered(["decide"], grants.fit_user(user.pk)) == {}


@pytest.mark.parametrize("change", [{"is_active": False}, {"is_superuser": True}])
def test_nobody_acts_as_a_user_who_is_not_fit_any_more(change: dict[str, bool]) -> None:
    """R19."""
    user = factories.make_user(**change)

    assert grants.fit_user(user.pk) is None


def _admitting(*users: object) -> Iterator[list[list[object]]]:
    """A tool that admits these; yields what it was asked."""
    asked: list[list[object]] = []

    def admits(keys: Collection[object]) -> set[object]:
        asked.append(list(keys))
        return set(keys) & set(users)

    def tools() -> list[Tool]:
        return [_tool("club", admits=admits)]

    registry.register_provider(tools)
    yield asked
    registry.unregister_provider(tools)


def test_a_tool_may_admit_some_users_only() -> None:
    """T3: besides the permission."""
    member, stranger = factories.make_user(), factories.make_user()
    with contextmanager(_admitting)(member.pk):
        assert set(grants.offered(["club"], member)) == {"club"}
        assert grants.offered(["club"], stranger) == {}
        told = grants.problems(grants.managed()["club"], stranger)

    assert told == [
        f"The technical user «{stranger.username}» is in none of the tool's groups."
    ]


def test_who_was_admitted_before_is_not_asked_about_again() -> None:
    """Of many users at once."""
    user = factories.make_user()
    with contextmanager(_admitting)() as asked:
        each = grants.managed()["club"]

        assert grants.problems(each, user, admitted={user.pk}) == []
        assert grants.problems(each, user, admitted=set()) != []

    assert asked == []


def test_nobody_acts_as_a_user_who_is_not_there() -> None:
    assert grants.fit_user(0) is None


def test_a_setting_switches_a_tool_on_and_another_off() -> None:
    """T2."""
    ToolSetting.objects.create(name="off", enabled=True)
    ToolSetting.objects.create(name="open", enabled=False)

    assert set(grants.offered(LISTED, factories.make_user())) == {"off", "ask"}


def test_a_setting_says_whether_a_person_has_to_approve() -> None:
    """T2: and a question needs none, since it waits for its answer."""
    for name in ("open", "ask"):
        ToolSetting.objects.create(name=name, requires_approval=True)

    offered = grants.offered(LISTED, factories.make_user())

    assert {name: tool.needs_approval for name, tool in offered.items()} == {
        "open": True,
        "ask": False,
    }


def test_says_why_a_tool_is_not_given() -> None:
    user = factories.make_user("ada")
    known = grants.managed()

    told = {name: grants.problems(known[name], user) for name in ("decide", "off")}

    assert told == {
        "decide": [
            "The technical user «ada» lacks the permission agent_runs.decide_run."
        ],
        "off": ["The tool is not enabled."],
    }


def test_names_what_a_run_may_not_use_any_more() -> None:
    """S73: what was added since does not count."""
    assert grants.withdrawn(["a", "b"], ["b", "c"]) == "It may not use a any more."
    assert grants.withdrawn(["a"], ["a", "c"]) is None


# --- Many users at once ---------------------------------------------------------------

NEEDED = "agent_runs.decide_run"


class Generous(BaseBackend):
    """Gives everybody everything, as a project's own backend may."""

    def has_perm(self, user_obj: object, perm: str, obj: object = None) -> bool:
        return True


def test_finds_the_holders_among_many_by_one_query(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    """T3: their own permission or a group's, and only those that were asked about."""
    own = factories.make_user(permissions=[NEEDED])
    grouped, without = factories.make_user(), factories.make_user()
    group = factories.make_group(members=[grouped])
    group.permissions.set(own.user_permissions.all())
    factories.make_user(permissions=[NEEDED])

    with django_assert_num_queries(1):
        found = grants.holders(NEEDED, [own, grouped, without])

    assert found == {own.pk, grouped.pk}


def test_another_backend_is_asked_about_each(settings: SettingsWrapper) -> None:
    settings.AUTHENTICATION_BACKENDS = [f"{__name__}.Generous"]
    user = factories.make_user()

    assert grants.holders(NEEDED, [user]) == {user.pk}


def test_a_permission_that_is_none_has_no_holders() -> None:
    assert grants.holders("nonsense", [factories.make_user()]) == frozenset()
