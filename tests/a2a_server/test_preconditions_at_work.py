"""A right is withdrawn while a run waits for a person: whatever the person says then, the
run fails before it does anything (S73).

Whole segments, with the code of a real provider and a local server.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import User

from a2a_server import trials
from a2a_server.documents import FAILURE_SENTENCES
from a2a_server.models import Client, ClientProfile, Profile, Task
from agent_runs import clock, deciding, engine
from agent_runs.models import (
    AgentRun,
    Draft,
    EndReason,
    LLMConfiguration,
    Provider,
    RunState,
    ToolSetting,
)
from agent_runs.models.llm import ProviderKind
from agent_runs.models.run import EventKind
from tests import factories
from tests.a2a_server import toolbox
from tests.a2a_server.calling import read_task, send
from tests.agent_runs import openai_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.agent_runs.openai_server import OpenAIServer

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("worker"),
]

NEEDED = "agent_runs.publish_draft"
NO_MORE = FAILURE_SENTENCES[EndReason.PRECONDITION_FAILED]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with openai_server.running() as server:
        yield server


@pytest.fixture
def writer() -> Iterator[toolbox.Writer]:
    writer = toolbox.Writer(permission=NEEDED)
    asker, reader = toolbox.asker(permission=NEEDED), toolbox.reader()
    with toolbox.registered(writer, asker, reader):
        yield writer


@pytest.fixture
def partner(server: OpenAIServer, writer: toolbox.Writer) -> Client:
    """May call a skill that asks and writes; its technical user may run both tools."""
    provider = factories.make_provider(
        kind=ProviderKind.OPENAI_COMPATIBLE, base_url=server.base_url
    )
    profile = factories.make_profile(
        configuration=factories.make_configuration(provider=provider),
        tools=["writer", "asker"],
        may_write=True,
    )
    return factories.make_client(
        "partner",
        profiles=[profile],
        workspace=factories.make_workspace(),
        technical_user=factories.make_user("technical", permissions=[NEEDED]),
    )


def run_until_it_waits(server: OpenAIServer, run: AgentRun, tool: str) -> AgentRun:
    server.answer = openai_server.tool_call(tool, "{}", call_id="c1")
    assert engine.execute(run.pk)
    run.refresh_from_db()
    server.answer = openai_server.stream("done")
    return run


def waiting_task(server: OpenAIServer, partner: Client, tool: str) -> AgentRun:
    task = send(partner)
    return run_until_it_waits(server, AgentRun.objects.get(task=task["id"]), tool)


def say(run: AgentRun, *, approve: bool = True) -> None:
    """A person approves or denies, or the client answers, and a worker takes it up."""
    _, found = deciding.waiting_run(run.pk)
    if run.state == RunState.WAITING_FOR_INPUT:
        deciding.answer(run.pk, "red", by=deciding.Teller(name="partner"))
    else:
        person = factories.make_user(is_superuser=True)
        deciding.decide(run.pk, found.id, approve=approve, user=person)
    assert engine.execute(run.pk)
    run.refresh_from_db()


# Which tool the model calls, by what the run waits for then.
TOOLS = {RunState.WAITING_FOR_APPROVAL: "writer", RunState.WAITING_FOR_INPUT: "asker"}


@pytest.mark.parametrize("state", TOOLS)
def test_nothing_withdrawn_lets_it_go_on(
    server: OpenAIServer, partner: Client, writer: toolbox.Writer, state: RunState
) -> None:
    """T11, S71: what the tests below have to differ from."""
    run = waiting_task(server, partner, TOOLS[state])
    assert run.state == state

    say(run)

    assert (run.state, len(server.asked)) == (RunState.COMPLETED, 2)
    assert len(writer.written) == (1 if state == RunState.WAITING_FOR_APPROVAL else 0)


def _change(model: Any, **values: Any) -> Callable[[], object]:
    return lambda: model.objects.update(**values)


def _other_user() -> None:
    other = factories.make_user(permissions=[NEEDED])
    Client.objects.update(technical_user=other)


def _switch_off(*names: str) -> Callable[[], object]:
    return lambda: [ToolSetting.objects.create(name=n, enabled=False) for n in names]


def _expire() -> None:
    Client.objects.update(expires_at=clock.database_now() - timedelta(seconds=1))


def _restrict() -> None:
    configuration = LLMConfiguration.objects.get()
    configuration.allowed_groups.add(factories.make_group())


def _technical(**values: Any) -> Callable[[], object]:
    return lambda: User.objects.filter(username="technical").update(**values)


def _lose_permission() -> None:
    User.objects.get(username="technical").user_permissions.clear()


WITHDRAWALS = {
    "client disabled": _change(Client, is_enabled=False),
    "client expired": _expire,
    "skill taken from the client": lambda: ClientProfile.objects.all().delete(),
    "skill not public": _change(Profile, is_public=False),
    "another technical user": _other_user,
    "technical user off": _technical(is_active=False),
    "technical user a superuser": _technical(is_superuser=True),
    "workspace changed": lambda: Client.objects.update(
        workspace=factories.make_workspace()
    ),
    "workspace cleared": _change(Client, workspace=None),
    "tools off": _switch_off("writer", "asker"),
    "another tool off": _switch_off("asker"),
    "permission withdrawn": _lose_permission,
    "may write cleared": _change(Profile, may_write=False),
    "tools off the list": _change(Profile, tools=[]),
    "another tool off the list": _change(Profile, tools=["writer"]),
    "list of another form": _change(Profile, tools={"writer": 1}),
    "configuration off": _change(LLMConfiguration, is_active=False),
    "provider off": _change(Provider, is_active=False),
    "configuration restricted": _restrict,
}


@pytest.mark.parametrize("withdraw", WITHDRAWALS.values(), ids=WITHDRAWALS)
@pytest.mark.parametrize("state", TOOLS)
def test_a_right_withdrawn_while_it_waits_fails_the_task(
    server: OpenAIServer,
    partner: Client,
    writer: toolbox.Writer,
    state: RunState,
    withdraw: Callable[[], object],
) -> None:
    """S73, T3: no model call, nothing written, the fixed sentence and no other word."""
    run = waiting_task(server, partner, TOOLS[state])
    withdraw()

    say(run)

    assert (run.state, run.end_reason) == ("failed", EndReason.PRECONDITION_FAILED)
    task = read_task(partner, Task.objects.get().pk)
    assert task["status"]["state"] == "TASK_STATE_FAILED"
    assert [part["text"] for part in task["status"]["message"]["parts"]] == [NO_MORE]
    assert len(server.asked) == 1
    assert writer.written == []
    assert not Draft.objects.exists()
    assert not run.events.filter(kind=EventKind.WRITE).exists()


@pytest.mark.parametrize("withdraw", WITHDRAWALS.values(), ids=WITHDRAWALS)
def test_a_right_withdrawn_before_it_begins_fails_the_task(
    server: OpenAIServer, partner: Client, withdraw: Callable[[], object]
) -> None:
    """S73: «the first included»."""
    task = send(partner)
    withdraw()

    assert engine.execute(AgentRun.objects.get().pk)

    assert read_task(partner, task["id"])["status"]["state"] == "TASK_STATE_FAILED"
    assert server.asked == []


def test_a_denial_does_not_help_it_on(server: OpenAIServer, partner: Client) -> None:
    """S73, T14."""
    run = waiting_task(server, partner, "writer")
    Client.objects.update(is_enabled=False)

    say(run, approve=False)

    assert (run.state, len(server.asked)) == (RunState.FAILED, 1)


def test_a_tool_that_is_not_installed_any_more_is_not_approved(
    server: OpenAIServer, partner: Client, writer: toolbox.Writer
) -> None:
    """S73, T12: it can only be denied, and the run fails all the same."""
    run = waiting_task(server, partner, "writer")
    writer.is_installed = False

    with pytest.raises(deciding.NotAllowed):
        say(run)
    say(run, approve=False)

    assert (run.state, len(server.asked)) == (RunState.FAILED, 1)


def test_what_was_given_back_in_time_was_never_gone(
    server: OpenAIServer, partner: Client, writer: toolbox.Writer
) -> None:
    run = waiting_task(server, partner, "writer")
    Client.objects.update(is_enabled=False)
    Client.objects.update(is_enabled=True)

    say(run)

    assert (run.state, len(writer.written)) == (RunState.COMPLETED, 1)


def test_a_tool_that_was_added_since_is_not_given_to_it(
    server: OpenAIServer, partner: Client
) -> None:
    """S73."""
    run = waiting_task(server, partner, "asker")
    Profile.objects.update(tools=["writer", "asker", "reader"])

    say(run)

    offered = [tool["function"]["name"] for tool in server.asked[-1].body["tools"]]
    assert (run.state, sorted(offered)) == (RunState.COMPLETED, ["asker", "writer"])


# What a trial does not depend on.
_OF_TASKS_ONLY = "skill not public"


@pytest.mark.parametrize(
    "withdraw",
    [change for name, change in WITHDRAWALS.items() if name != _OF_TASKS_ONLY],
    ids=[name for name in WITHDRAWALS if name != _OF_TASKS_ONLY],
)
def test_a_trial_ends_like_a_task(
    server: OpenAIServer,
    partner: Client,
    writer: toolbox.Writer,
    withdraw: Callable[[], object],
) -> None:
    """O2, S73."""
    run = waiting_trial(server, partner)
    withdraw()

    say(run)

    assert (run.state, run.end_reason) == ("failed", EndReason.PRECONDITION_FAILED)
    assert (writer.written, len(server.asked)) == ([], 1)


def test_a_trial_of_a_skill_that_is_not_public_goes_on(
    server: OpenAIServer, partner: Client, writer: toolbox.Writer
) -> None:
    """O2."""
    Profile.objects.update(is_public=False)
    run = waiting_trial(server, partner)

    say(run)

    assert (run.state, len(writer.written)) == (RunState.COMPLETED, 1)


def waiting_trial(server: OpenAIServer, partner: Client) -> AgentRun:
    starter = factories.make_user(permissions=[trials.PERMISSION])
    run_id = trials.start(partner.profiles.get(), partner, "hi", starter=starter)
    return run_until_it_waits(server, AgentRun.objects.get(pk=run_id), "writer")
