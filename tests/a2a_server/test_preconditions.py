from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from a2a_server import preconditions
from a2a_server.models import Client, Profile
from agent_runs import clock, registries
from agent_runs.models import AgentRun
from tests import factories
from tests.a2a_server.calling import send

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_django import DjangoAssertNumQueries

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("worker")]


@pytest.fixture
def run(partner: Client) -> AgentRun:
    send(partner)
    return AgentRun.objects.get()


def change_client(**values: Any) -> Callable[[], object]:
    return lambda: Client.objects.update(**values)


def change_profile(**values: Any) -> Callable[[], object]:
    return lambda: Profile.objects.update(**values)


def test_the_engine_asks(db: None) -> None:
    """S73: at the start of every segment."""
    assert preconditions.segment_problem in registries.segment_guards


def test_nothing_changed_is_no_problem(
    run: AgentRun, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """S73: found out with one query."""
    with django_assert_num_queries(1):
        assert preconditions.segment_problem(run) is None


def test_a_run_without_a_task_is_none_of_this(db: None) -> None:
    """S73."""
    assert preconditions.segment_problem(factories.make_run()) is None


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (change_client(is_enabled=False), "not enabled"),
        (lambda: Client.objects.get().grants.all().delete(), "may not call"),
        (change_profile(is_public=False), "not public"),
        (
            lambda: Client.objects.update(technical_user=factories.make_user()),
            "technical user",
        ),
        (
            lambda: Client.objects.update(workspace=factories.make_workspace()),
            "workspace",
        ),
    ],
    ids=["disabled", "skill taken", "not public", "other user", "other workspace"],
)
def test_says_what_was_taken_away(
    run: AgentRun, change: Callable[[], object], word: str
) -> None:
    """S73."""
    change()

    problem = preconditions.segment_problem(run)

    assert problem
    assert word in problem


@pytest.mark.parametrize(
    ("seconds", "has_expired"), [(-1, True), (-0.001, True), (60, False)]
)
def test_an_expired_client_is_refused(
    run: AgentRun, seconds: float, has_expired: bool
) -> None:
    """S73, P4: by the database's clock."""
    moment = clock.database_now() + timedelta(seconds=seconds)
    Client.objects.update(expires_at=moment)

    assert bool(preconditions.segment_problem(run)) is has_expired


@pytest.mark.parametrize(
    ("given", "now", "is_refused"),
    [
        (["a", "b"], ["b", "a"], False),
        (["a"], ["a", "b"], False),  # added since: not given to this run
        (["a", "b"], ["a"], True),
        ([], ["a"], False),
    ],
)
def test_every_tool_the_run_was_given_is_still_granted(
    run: AgentRun, given: list[str], now: list[str], is_refused: bool
) -> None:
    """S73."""
    run.tools = given
    Profile.objects.update(tools=now, may_write=True)

    assert bool(preconditions.segment_problem(run)) is is_refused


def test_a_skill_that_may_no_longer_write_has_lost_its_tools(run: AgentRun) -> None:
    """S73, T3."""
    run.tools = ["a"]
    Profile.objects.update(tools=["a"], may_write=False)

    problem = preconditions.segment_problem(run)

    assert problem
    assert "lost the tools a" in problem
