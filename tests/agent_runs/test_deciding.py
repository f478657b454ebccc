from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from pydantic import BaseModel

from agent_runs import deciding, lifecycle
from agent_runs.deciding import NotAllowed, NotWaiting, SomethingElse, Teller
from agent_runs.effects import Effect
from agent_runs.models import AgentRun, RunState
from agent_runs.questions import Answer, BadAnswer
from agent_runs.tools import registry
from agent_runs.tools.contract import Tool, ToolCall, Written
from agent_runs.transcript import Decisions
from tests import factories

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.contrib.auth.models import User

pytestmark = pytest.mark.django_db

BY = Teller(name="reader")
DECIDER = ("agent_runs.decide_run",)


def _asking(*options: str, **values: Any) -> AgentRun:
    return factories.make_run(
        RunState.WAITING_FOR_INPUT,
        waiting=factories.make_question("Which colour?", *options),
        **values,
    )


def _to_approve(*tools: str, **values: Any) -> AgentRun:
    return factories.make_run(
        RunState.WAITING_FOR_APPROVAL,
        waiting=factories.make_approval(*tools or ("write",)),
        **values,
    )


def _stored(run: AgentRun) -> dict[str, Any]:
    return AgentRun.objects.filter(id=run.id).values().get()


def _pending(run: AgentRun) -> Decisions:
    run.refresh_from_db()
    assert run.pending
    return Decisions.load(run.pending)


# --- Answers --------------------------------------------------------------------------


def test_an_answer_hands_the_run_back_to_the_workers() -> None:
    run = _asking("red", "blue")

    deciding.answer(run.id, "blue", by=BY, message_id="m2")

    assert _pending(run).answers == {"call-1": Answer(value="blue", message_id="m2")}
    assert run.state == RunState.QUEUED
    assert (run.waiting_for, run.waiting_id) == (None, "")


def test_an_answer_is_told_in_the_runs_history() -> None:
    """R15: who gave it, and the text as far as the level lets it."""
    provider = factories.make_provider(answer_level="redacted")
    configuration = factories.make_configuration(provider=provider)
    run = _asking(configuration=configuration)

    deciding.answer(run.id, "ask ada@example.org", by=BY)

    event = run.events.get()
    assert (event.kind, event.facts["by"]) == ("answer", "reader")
    assert event.content == "ask [redacted]"


def test_a_bad_answer_leaves_the_run_waiting() -> None:
    """T8: checked before anything is claimed or stored."""
    run = _asking("red", "blue")
    before = _stored(run)

    with pytest.raises(BadAnswer):
        deciding.answer(run.id, "green", by=BY)

    assert _stored(run) == before
    assert not run.events.exists()


def test_an_answer_to_another_question_changes_nothing() -> None:
    """T9."""
    run = _asking()
    before = _stored(run)

    with pytest.raises(SomethingElse):
        deciding.answer(run.id, "blue", by=BY, question_id="another")

    assert _stored(run) == before


def test_the_second_answer_is_told_that_nothing_is_waiting() -> None:
    """T10."""
    run = _asking()
    deciding.answer(run.id, "blue", by=BY)

    with pytest.raises(NotWaiting):
        deciding.answer(run.id, "red", by=BY)

    assert _pending(run).answers["call-1"].value == "blue"
    assert run.events.count() == 1


@pytest.mark.parametrize("state", [s for s in RunState if s != "waiting_for_input"])
def test_only_a_run_that_asks_takes_an_answer(state: RunState) -> None:
    run = factories.make_run(state)

    with pytest.raises(NotWaiting):
        deciding.answer(run.id, "blue", by=BY)


def test_a_run_that_is_not_there_takes_none() -> None:
    with pytest.raises(NotWaiting):
        deciding.answer(uuid4(), "blue", by=BY)


# --- Verdicts -------------------------------------------------------------------------


class Arguments(BaseModel):
    value: int = 0


def _write(call: ToolCall) -> Written:
    return Written(content="", writes=())


def _may_run(user: Any, arguments: BaseModel) -> bool:
    return user.username != "careless"


def _tools() -> list[Tool]:
    writer = {"parameters": Arguments, "description": "", "write": _write}
    effect = Effect.NON_IDEMPOTENT_WRITE
    return [
        Tool(name="write", effect=effect, may_run=_may_run, **writer),  # type: ignore[arg-type]
        Tool(name="hidden", effect=effect, permission="auth.add_user", **writer),  # type: ignore[arg-type]
        Tool(name="closed", effect=effect, admits=lambda users: [], **writer),  # type: ignore[arg-type]
    ]


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    registry.register_provider(_tools)
    yield
    registry.unregister_provider(_tools)


def _person(username: str = "", *permissions: str) -> User:
    return factories.make_user(username or None, permissions=permissions)


@pytest.mark.parametrize("approve", [True, False], ids=["approve", "deny"])
def test_a_verdict_is_bound_to_what_was_shown_and_says_who_gave_it(
    approve: bool,
) -> None:
    """T12."""
    run = _to_approve()

    deciding.decide(
        run.id, run.waiting_id, approve=approve, user=_person("ada", *DECIDER)
    )

    given = run.waiting_id
    assert _pending(run) == Decisions(is_approved=approve, approval_id=given)
    event = run.events.get()
    assert event.facts["approved"] is approve
    assert event.facts["by"] == "ada"


def test_a_verdict_on_what_is_shown_no_more_changes_nothing() -> None:
    """T12, T13."""
    run = _to_approve()
    before = _stored(run)

    with pytest.raises(SomethingElse):
        deciding.decide(run.id, "old", approve=True, user=_person("", *DECIDER))

    assert _stored(run) == before


def test_a_verdict_does_not_answer_a_question() -> None:
    run = _asking()

    with pytest.raises(NotWaiting):
        deciding.decide(
            run.id, run.waiting_id, approve=True, user=_person("", *DECIDER)
        )


def test_a_verdict_after_the_end_changes_nothing() -> None:
    """R3."""
    run = _to_approve()
    lifecycle.cancel(run.id)

    with pytest.raises(NotWaiting):
        deciding.decide(
            run.id, run.waiting_id, approve=True, user=_person("", *DECIDER)
        )


def _refusal(run: AgentRun, user: User, *, approve: bool = True) -> str:
    with pytest.raises(NotAllowed) as refused:
        deciding.decide(run.id, run.waiting_id, approve=approve, user=user)
    assert run.waiting_id == AgentRun.objects.get(id=run.id).waiting_id
    return str(refused.value)


@pytest.mark.parametrize("approve", [True, False], ids=["approve", "deny"])
def test_a_stranger_decides_nothing(approve: bool) -> None:
    """R20."""
    told = _refusal(_to_approve(), _person(), approve=approve)

    assert told == "You may decide only about runs that you started yourself."


def test_who_started_a_run_decides_about_it() -> None:
    """R20: the permission is for the runs of others."""
    starter = _person()
    run = _to_approve(starter=starter)

    deciding.decide(run.id, run.waiting_id, approve=True, user=starter)

    assert _pending(run).is_approved


def test_with_a_starter_the_owner_is_a_stranger() -> None:
    owner = _person()

    assert _refusal(_to_approve(owner=owner, starter=_person()), owner)


@pytest.mark.parametrize("column", ["owner", "starter"])
def test_four_eyes_let_the_starter_deny_but_not_approve(column: str) -> None:
    """T12: without a starter the technical user counts as one."""
    configuration = factories.make_configuration(four_eyes=True)
    person = _person("", *DECIDER)
    run = _to_approve(configuration=configuration, **{column: person})

    told = _refusal(run, person)
    deciding.decide(run.id, run.waiting_id, approve=False, user=person)

    assert told.startswith("Four eyes")
    assert _pending(run).is_approved is False


def test_four_eyes_let_somebody_else_approve() -> None:
    configuration = factories.make_configuration(four_eyes=True)
    run = _to_approve(configuration=configuration)

    deciding.decide(run.id, run.waiting_id, approve=True, user=_person("", *DECIDER))

    assert _pending(run).is_approved


@pytest.mark.parametrize(
    ("tool", "username", "told"),
    [
        ("hidden", "ada", "You lack the permission auth.add_user"),
        ("closed", "ada", "You are in none of the groups that may use closed."),
        ("write", "careless", "You may not do yourself what write would do here."),
        ("gone", "ada", "The tool gone is not installed any more."),
    ],
    ids=["permission", "groups", "this call", "unknown"],
)
def test_who_could_not_do_it_cannot_approve_it(
    tool: str, username: str, told: str
) -> None:
    """T12: a name that nobody registered counts as a write (T1)."""
    run = _to_approve(tool)

    assert _refusal(run, _person(username, *DECIDER)).startswith(told)


def test_who_could_not_do_it_can_deny_it() -> None:
    run = _to_approve("hidden", "gone")

    deciding.decide(run.id, run.waiting_id, approve=False, user=_person("", *DECIDER))

    assert _pending(run).is_approved is False


# --- Who ------------------------------------------------------------------------------


def test_a_person_answers_own_runs_and_with_the_permission_others() -> None:
    """R20, S74: asked here as well as on the page."""
    run, starter = _asking(), _person()
    own = _asking(starter=starter)

    with pytest.raises(NotAllowed):
        deciding.answer_as(starter, run.id, "red", question_id=run.waiting_id)
    for person, each in ((_person("", *DECIDER), run), (starter, own)):
        deciding.answer_as(person, each.id, "red", question_id=each.waiting_id)

    assert _pending(run).answers["call-1"].value == "red"
    assert _pending(own).answers["call-1"].value == "red"


def test_the_runs_to_decide_about_are_those_nothing_speaks_against() -> None:
    """R20: the list says what the rule says."""
    person, another = _person(), _person()
    runs = [
        _asking(owner=owner, starter=starter)
        for owner in (person, another, None)
        for starter in (person, another, None)
    ]

    for each in (person, another, _person(), _person("", *DECIDER)):
        allowed = [run.pk for run in runs if not deciding.person_problem(run, each)]
        listed = AgentRun.objects.filter(deciding.decidable_by(each))
        assert set(listed.values_list("pk", flat=True)) == set(allowed)
