from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from django.core.management import call_command
from django.db.models import ProtectedError

from a2a_server import preconditions, skills, trials
from a2a_server.models import Client, Profile, Task, Trial
from agent_runs import clock, deciding, handlers
from agent_runs.contents import RunInput, TextPart, load_input
from agent_runs.models import AgentRun, LLMConfiguration, Provider
from tests import factories
from tests.a2a_server import toolbox
from tests.a2a_server.calling import SilentHandler

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.contrib.auth.models import User

pytestmark = pytest.mark.django_db


@pytest.fixture
def tester(db: None) -> User:
    return factories.make_user("tester", permissions=[trials.PERMISSION])


@pytest.fixture
def writing() -> Profile:
    return factories.make_profile(
        "writes", is_public=False, may_write=True, tools=["reader", "writer", "gone"]
    )


@pytest.fixture
def partner(writing: Profile) -> Client:
    return factories.make_client(
        "partner", profiles=[writing], workspace=factories.make_workspace("desk")
    )


def start(client: Client, starter: User, text: str = "hi") -> AgentRun:
    run_id = trials.start(client.profiles.get(), client, text, starter=starter)
    return AgentRun.objects.get(pk=run_id)


def refusal(client: Client, starter: User) -> str:
    """A profile may have been changed behind the object's back."""
    with pytest.raises(trials.TrialRefused) as refused:
        trials.start(Profile.objects.get(), client, "hi", starter=starter)
    assert not AgentRun.objects.exists()
    assert not Trial.objects.exists()
    return str(refused.value)


def test_a_trial_is_the_run_that_the_clients_message_would_be(
    partner: Client, tester: User
) -> None:
    """O2, S50: its technical user, workspace, tools and configuration; and no task."""
    with toolbox.registered(toolbox.reader(), toolbox.Writer()):
        run = start(partner, tester, "Sum up.")

    profile = partner.profiles.get()
    assert (run.owner, run.starter) == (partner.technical_user, tester)
    assert (run.workspace, run.tools) == (partner.workspace, ["reader", "writer"])
    assert (run.handler, run.configuration) == (profile.handler, profile.configuration)
    assert load_input(run.request) == RunInput(
        parts=(TextPart(text="Sum up."),), skill="writes"
    )
    assert not Task.objects.exists()
    assert str(run.trial) == "Trial of «Writes (writes)» as «partner»"


def test_no_limit_of_tasks_counts(partner: Client, tester: User) -> None:
    """O2: neither is one used."""
    Client.objects.update(task_limit=1)
    Profile.objects.update(active_task_quota=1)

    runs = {start(partner, tester).pk for _ in range(3)}

    assert len(runs) == 3


def test_the_starter_does_not_approve_what_they_started(
    partner: Client, tester: User
) -> None:
    """T12: four eyes, also for a superuser."""
    LLMConfiguration.objects.update(four_eyes=True)
    tester.is_superuser = True
    tester.save()
    run = start(partner, tester)
    shown: Any = factories.make_approval("writer")

    problem = deciding.approval_problem(run, shown, tester)

    assert problem == "Four eyes: whoever started the run may deny, but not approve."


# --- Refusals -------------------------------------------------------------------------


def _change(model: Any, **values: Any) -> Callable[[Client], object]:
    return lambda client: model.objects.update(**values)


def _change_user(**values: Any) -> Callable[[Client], object]:
    def change(client: Client) -> None:
        for name, value in values.items():
            setattr(client.technical_user, name, value)
        client.technical_user.save()

    return change


def _restrict(client: Client) -> None:
    configuration = LLMConfiguration.objects.get()
    configuration.allowed_groups.add(factories.make_group())


def _expire(client: Client) -> None:
    Client.objects.update(expires_at=clock.database_now() - timedelta(seconds=1))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (_change(Client, is_enabled=False), "«partner» is not enabled."),
        (_expire, "«partner» has expired."),
        (_change_user(is_active=False), "is not active."),
        (_change_user(is_superuser=True), "is a superuser."),
        (lambda c: c.grants.all().delete(), "«partner» may not call this skill"),
        (_change(Client, workspace=None), "«partner» has no workspace."),
        (_change(Profile, handler="no.such"), "«no.such» is not available."),
        (_change(Profile, configuration=None), "needs an LLM configuration."),
        (_change(LLMConfiguration, is_active=False), "is not active."),
        (_change(Provider, is_active=False), "is not active."),
        (_change(Provider, answer_level="none"), "keeps no result."),
        (_restrict, "is in no group that may use"),
    ],
    ids=[
        "client off",
        "client expired",
        "user off",
        "superuser",
        "grant gone",
        "live",
        "no handler",
        "no configuration",
        "configuration off",
        "provider off",
        "keeps nothing",
        "groups",
    ],
)
def test_what_refuses_a_message_refuses_a_trial(
    partner: Client,
    tester: User,
    change: Callable[[Client], object],
    sentence: str,
) -> None:
    """O2, S31: in a sentence for administrators."""
    change(partner)

    assert sentence in refusal(partner, tester)


def test_every_problem_is_told_at_once(partner: Client, tester: User) -> None:
    _expire(partner)
    Client.objects.update(is_enabled=False, workspace=None)

    told = refusal(partner, tester)

    for word in ("not enabled", "expired", "no workspace"):
        assert word in told


class NumbersHandler(SilentHandler):
    name: ClassVar[str] = "test.numbers"
    input_modes: ClassVar[tuple[str, ...]] = ("application/json",)


def test_a_handler_that_takes_no_text_cannot_be_tried(
    partner: Client, tester: User
) -> None:
    """S42."""
    handlers.register(NumbersHandler())
    Profile.objects.update(handler=NumbersHandler.name, configuration=None)

    assert "takes no plain text" in refusal(partner, tester)


@pytest.mark.parametrize("permissions", [[], ["a2a_server.change_profile"]], ids=str)
def test_trying_takes_a_permission(partner: Client, permissions: list[str]) -> None:
    """O2: asked here too, whatever the page asked."""
    starter = factories.make_user(permissions=permissions)

    assert refusal(partner, starter) == "You may not try skills."


@pytest.mark.django_db(transaction=True)
def test_a_client_that_is_deleted_meanwhile_is_told(
    partner: Client, tester: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O2: by whoever does it between the look and the commit."""
    given_tools = skills.given_tools

    def lose_and_give(profile: Profile, *, user_id: int) -> tuple[str, ...]:
        Client.objects.all().delete()
        return given_tools(profile, user_id=user_id)

    monkeypatch.setattr(skills, "given_tools", lose_and_give)

    assert "deleted meanwhile" in refusal(partner, tester)


# --- What is judged later -------------------------------------------------------------


def test_a_trial_may_be_of_a_skill_that_is_not_public(
    partner: Client, tester: User
) -> None:
    """O2, S73."""
    run = start(partner, tester)

    assert preconditions.segment_problem(run) is None


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (_change(Client, is_enabled=False), "not enabled"),
        (_expire, "expired"),
        (lambda c: c.grants.all().delete(), "may not call"),
        (_change(Client, workspace=None), "workspace"),
        (
            lambda c: Client.objects.update(technical_user=factories.make_user()),
            "technical user",
        ),
        (_change(Profile, may_write=False), "lost the tools writer"),
        (_change(Profile, tools=["writer"]), "lost the tools reader"),
    ],
    ids=["off", "expired", "skill", "live", "user", "may write", "list"],
)
def test_a_right_that_is_withdrawn_ends_a_trial_like_a_task(
    partner: Client, tester: User, change: Callable[[Client], object], word: str
) -> None:
    """S73."""
    with toolbox.registered(toolbox.reader(), toolbox.Writer()):
        run = start(partner, tester)
        change(partner)

        problem = preconditions.segment_problem(run)

    assert word in (problem or "")


# --- What points to what --------------------------------------------------------------


@pytest.mark.parametrize("which", ["client", "profile"])
def test_what_a_trial_points_to_stays(
    partner: Client, tester: User, which: str
) -> None:
    """P5."""
    trial = start(partner, tester).trial
    partner.grants.all().delete()

    with pytest.raises(ProtectedError):
        getattr(trial, which).delete()


def test_a_trial_goes_with_its_run(partner: Client, tester: User) -> None:
    """R18: `agent_purge --client` knows it."""
    run = start(partner, tester)
    long_ago = clock.database_now() - timedelta(days=40)
    AgentRun.objects.filter(pk=run.pk).update(
        state="canceled", end_reason="canceled", ended_at=long_ago
    )
    factories.make_run("completed", now=long_ago)

    call_command("agent_purge", "--client", "partner", "--json")

    assert not Trial.objects.exists()
    assert AgentRun.objects.count() == 1


def test_clients_to_try_as_are_those_that_hold_the_skill(
    partner: Client, writing: Profile
) -> None:
    factories.make_client("elsewhere", profiles=[factories.make_profile()])
    factories.make_client("another", profiles=[writing])

    assert [c.name for c in trials.clients_of(writing)] == ["another", "partner"]
