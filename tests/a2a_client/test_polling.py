"""What is asked while no worker is held, and what is found that was left behind."""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from a2a_client import ledger, polling, recording
from a2a_client.models import CallState, Cancellation, RemoteAgent, RemoteCall
from agent_runs import clock, lifecycle, retention
from agent_runs.encryption import field_of
from agent_runs.handlers import ModelAnswer
from agent_runs.models import AgentRun, RunState
from agent_runs.models.run import TERMINAL_STATES
from tests import factories
from tests.a2a_client import agents, scripts
from tests.a2a_client.delegating import DONE, WORKING, delegating, make_due, sends
from tests.a2a_client.peer import Gate
from tests.agent_runs import locking

if TYPE_CHECKING:
    from pytest_django.fixtures import SettingsWrapper

    from tests.a2a_client.peer import Peer

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("client_role"),
]

HOUR = timedelta(hours=1)
CANCELED = scripts.result(agents.task("CANCELED"))


def waiting_run(agent: RemoteAgent, **values: Any) -> RemoteCall:
    """A run that waits for a call which the agent works on, and is due."""
    run = factories.make_run(RunState.WAITING_FOR_REMOTE)
    due = {"remote_task_id": "R1", "due_at": clock.database_now()}
    call = factories.make_remote_call(
        CallState.WORKING,
        agent=agent,
        run=run,
        call_key=str(run.pk)[:8],
        **due | values,
    )
    AgentRun.objects.filter(pk=run.pk).update(waiting_id=str(call.pk))
    return call


def stored(call: RemoteCall) -> RemoteCall:
    return RemoteCall.objects.get(pk=call.pk)


def state_of_run(call: RemoteCall) -> str:
    return str(AgentRun.objects.get(pk=call.run_id).state)


# --- Polling --------------------------------------------------------------------------


def test_polls_that_fail_tell_nothing_of_the_task(peer: Peer) -> None:
    """B111: and neither do they end the wait."""
    peer.on("SendMessage", sends(WORKING))
    peer.on(
        "GetTask",
        scripts.result(WORKING),
        scripts.unavailable(),
        scripts.reset,
        scripts.result(WORKING),
        scripts.error(-32603),
        scripts.html(),
        scripts.result(DONE, id="another"),
        scripts.result(agents.task(id="R2")),
        scripts.result(DONE),
    )
    step = delegating(peer)
    step.go()

    for polls in range(1, 9):
        step.poll()
        assert (step.call.state, step.call.polls) == (CallState.WORKING, polls)
        assert step.run.state == RunState.WAITING_FOR_REMOTE
    step.poll()

    assert step.go() == ModelAnswer(text="done")
    assert "Paris" in step.result[1]
    assert peer.count("SendMessage") == 1
    assert {asked.params["historyLength"] for asked in peer.of("GetTask")} == {0}


def test_a_task_that_is_gone_is_told_so(peer: Peer) -> None:
    """B111: -32001 on the third poll."""
    peer.on("SendMessage", sends(WORKING))
    peer.on(
        "GetTask",
        scripts.result(WORKING),
        scripts.result(WORKING),
        scripts.error(-32001),
    )
    step = delegating(peer)
    step.go()

    for _ in range(3):
        step.poll()
    step.go()

    assert (step.call.state, step.call.code) == (CallState.FAILED, "task_not_found")
    assert step.result[0] == "failed"
    assert polling.GONE in step.result[1]


def test_a_task_that_never_ends_is_canceled_at_its_deadline(peer: Peer) -> None:
    """C6, B111: CancelTask once, and an error result."""
    peer.on("SendMessage", sends(WORKING))
    peer.on("GetTask", scripts.result(WORKING))
    peer.on("CancelTask", CANCELED)
    step = delegating(peer)
    step.go()
    RemoteCall.objects.update(deadline_at=clock.database_now())

    step.sweep()
    step.sweep()
    step.go()

    assert step.call.state == CallState.EXPIRED
    assert step.call.cancellation == Cancellation.SENT
    assert step.result[0] == "failed"
    assert polling.LATE in step.result[1]
    assert [c.params["id"] for c in peer.of("CancelTask")] == ["R1"]


def test_the_agents_time_does_not_run_while_a_person_is_asked(peer: Peer) -> None:
    """C6, C8."""
    peer.on(
        "SendMessage", sends(agents.task("INPUT_REQUIRED", say="?")), sends(WORKING)
    )
    peer.on("GetTask", scripts.result(WORKING))
    step = delegating(peer, deadline_minutes=60)
    step.go()
    asked, deadline = step.call.state_changed_at - 2 * HOUR, step.call.deadline_at
    RemoteCall.objects.update(
        state_changed_at=asked, deadline_at=deadline - 2 * HOUR, created_at=asked
    )

    step.answer("yes")
    step.go()
    step.poll()

    assert step.call.state == CallState.WORKING
    assert deadline <= step.call.deadline_at < deadline + timedelta(minutes=1)


def test_the_waits_between_polls_grow_up_to_a_minute() -> None:
    """C6."""
    waits = [recording.poll_delay(n).total_seconds() for n in (0, 1, 2, 3, 4, 5, 999)]

    assert waits == [2, 4, 8, 16, 32, 60, 60]


def test_an_agent_may_ask_for_longer_waits_but_not_for_ever() -> None:
    asked = [None, 1, 30, 10**9]

    waits = [recording.poll_delay(1, asked=n).total_seconds() for n in asked]

    assert waits == [4, 4, 30, 600]


def test_an_agent_that_is_too_busy_is_left_alone_as_long_as_it_asks(peer: Peer) -> None:
    peer.on("GetTask", scripts.unavailable("90"))
    call = waiting_run(factories.make_remote_agent(peer.url))
    before = clock.database_now()

    polling.poll()

    due_at = stored(call).due_at
    assert due_at
    assert due_at >= before + timedelta(seconds=90)


def test_a_poll_that_told_nothing_new_is_postponed(peer: Peer) -> None:
    """C6."""
    peer.on("GetTask", scripts.result(WORKING))
    call = waiting_run(factories.make_remote_agent(peer.url), polls=2)
    before = clock.database_now()

    polling.poll()

    assert stored(call).polls == 3
    due_at = stored(call).due_at
    assert due_at is not None
    assert timedelta(seconds=8) <= due_at - before < timedelta(seconds=20)


@pytest.mark.parametrize(
    "values",
    [
        {"due_at": None},
        {"state": CallState.ASKING},
        {"state": CallState.SENDING},
        {"due_in": timedelta(minutes=1)},
    ],
    ids=["nobody asks", "asking", "sending", "not due"],
)
def test_only_what_is_due_is_polled(peer: Peer, values: dict[str, Any]) -> None:
    call = waiting_run(factories.make_remote_agent(peer.url))
    if due_in := values.pop("due_in", None):
        values["due_at"] = clock.database_now() + due_in
    RemoteCall.objects.filter(pk=call.pk).update(**values)

    polling.poll()

    assert peer.connections == 0


def test_a_task_is_polled_only_while_somebody_waits(peer: Peer) -> None:
    """A segment that runs looks itself; an answered run needs nothing."""
    call = waiting_run(factories.make_remote_agent(peer.url))
    AgentRun.objects.update(state=RunState.QUEUED)

    polling.poll()

    assert peer.connections == 0
    assert stored(call).state == CallState.WORKING


def test_one_agent_that_is_slow_keeps_no_other_from_its_end(peer: Peer) -> None:
    """All requests of a round leave side by side."""
    agent = factories.make_remote_agent(peer.url)
    slow, quick = waiting_run(agent), waiting_run(agent)
    gate = Gate(scripts.result(DONE))
    peer.on("GetTask", gate, gate, scripts.result(DONE))

    with ThreadPoolExecutor(1) as threads:
        polls = threads.submit(locking.with_own_connection, polling.poll)
        peer.wait_for("GetTask", 2)
        gate.open()
        polls.result()

    assert {stored(slow).state, stored(quick).state} == {CallState.COMPLETED}
    assert {state_of_run(slow), state_of_run(quick)} == {RunState.QUEUED}


def test_a_poll_that_cannot_leave_stops_no_other(peer: Peer) -> None:
    """C3: a secret that was written for another row cannot be read."""
    other = factories.make_remote_agent(
        peer.url, secret="s3cret", credential_kind="bearer"
    )
    broken = waiting_run(other)
    sealed = field_of(RemoteAgent, "credential_secret").seal(other.pk + 1, "s3cret")
    RemoteAgent.objects.filter(pk=other.pk).update(credential_secret=sealed)
    fine = waiting_run(factories.make_remote_agent(peer.url))
    peer.on("GetTask", scripts.result(DONE))

    polling.poll()

    assert stored(fine).state == CallState.COMPLETED
    assert stored(broken).state == CallState.WORKING
    assert peer.count("GetTask") == 1


def test_two_sweeps_at_once_ask_once(peer: Peer, postgresql: str) -> None:
    """W3: one wake, too."""
    agent = factories.make_remote_agent(peer.url)
    calls = [waiting_run(agent, remote_task_id="R1") for _ in range(4)]
    gate = Gate(scripts.result(DONE))
    peer.on("GetTask", *[gate] * 4, scripts.result(DONE))

    with ThreadPoolExecutor(2) as threads:
        sweep = functools.partial(locking.with_own_connection, polling.poll)
        both = [threads.submit(sweep) for _ in range(2)]
        peer.wait_for("GetTask", 4)
        gate.open()
        for one in both:
            one.result()

    assert peer.count("GetTask") == 4
    assert {state_of_run(call) for call in calls} == {RunState.QUEUED}


def test_whoever_polled_too_late_changes_nothing(peer: Peer) -> None:
    """Another process was faster; the run is woken once."""
    peer.on("GetTask", scripts.result(DONE))
    call = waiting_run(factories.make_remote_agent(peer.url))
    late = RemoteCall.objects.select_related("agent").get()
    polling.poll()
    queued = AgentRun.objects.get(pk=call.run_id)

    outcome = recording.outcome(
        late, recording.outcomes.of_task_result(agents.task("FAILED"))[0]
    )

    assert outcome is False
    assert stored(call).state == CallState.COMPLETED
    assert AgentRun.objects.get(pk=call.run_id).state_changed_at == (
        queued.state_changed_at
    )


def test_calls_are_read_together_however_many(peer: Peer) -> None:
    """Each is stored by itself."""
    peer.on("GetTask", scripts.result(WORKING))
    agent = factories.make_remote_agent(peer.url)
    counts = set()
    for more in (1, 4):
        for _ in range(more):
            waiting_run(agent)
        make_due()
        with CaptureQueriesContext(connection) as queries:
            polling.poll()
        counts.add(len([q for q in queries if _reads_calls(q["sql"])]))

    assert counts == {1}
    assert peer.count("GetTask") == 1 + 5


def _reads_calls(sql: str) -> bool:
    return sql.startswith("SELECT") and "a2a_client_remotecall" in sql


# --- Tidying --------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["completed", "unknown", "asking", "failed"])
def test_a_run_whose_call_needs_it_is_woken(state: str) -> None:
    """A crash between recording and waking, or between recording and the wait."""
    call = waiting_run(factories.make_remote_agent())
    ended = None if CallState(state).is_active else clock.database_now()
    RemoteCall.objects.filter(pk=call.pk).update(state=state, ended_at=ended)

    polling.tidy()

    assert state_of_run(call) == RunState.QUEUED


def test_a_run_whose_agent_works_is_left_waiting() -> None:
    call = waiting_run(factories.make_remote_agent())

    polling.tidy()

    assert state_of_run(call) == RunState.WAITING_FOR_REMOTE


def test_a_run_that_waits_for_another_call_is_not_woken() -> None:
    call = waiting_run(factories.make_remote_agent())
    earlier = {"run": AgentRun.objects.get(), "agent": call.agent, "call_key": "other"}
    factories.make_remote_call(CallState.COMPLETED, **earlier)

    polling.tidy()

    assert state_of_run(call) == RunState.WAITING_FOR_REMOTE


def test_earlier_calls_of_many_runs_keep_nobody_from_being_woken() -> None:
    """However many there are before the one that counts."""
    agent = factories.make_remote_agent()
    patient = waiting_run(agent)
    run, old = AgentRun.objects.get(), clock.database_now() - HOUR
    for number in range(60):
        earlier = {"run": run, "agent": agent, "call_key": f"earlier-{number}"}
        factories.make_remote_call(CallState.COMPLETED, now=old, **earlier)
    forgotten = waiting_run(agent)
    RemoteCall.objects.filter(pk=forgotten.pk).update(state=CallState.ASKING)

    polling.tidy()

    assert state_of_run(forgotten) == RunState.QUEUED
    assert state_of_run(patient) == RunState.WAITING_FOR_REMOTE


@pytest.mark.parametrize("state", sorted(TERMINAL_STATES))
@pytest.mark.parametrize("call_state", ["working", "asking"])
def test_a_call_whose_run_ended_is_canceled_at_the_agent_once(
    peer: Peer, state: str, call_state: str
) -> None:
    """C9."""
    peer.on("CancelTask", CANCELED)
    agent = factories.make_remote_agent(peer.url)
    call = factories.make_remote_call(
        call_state, agent=agent, run=factories.make_run(state), remote_task_id="R1"
    )

    for _ in range(2):
        polling.tidy()
        polling.cancel()

    assert stored(call).state == CallState.CANCELED
    assert stored(call).cancellation == Cancellation.SENT
    assert peer.count("CancelTask") == 1


@pytest.mark.parametrize(
    "answer",
    [scripts.reset, scripts.error(-32002), scripts.http(500), scripts.html()],
    ids=["reset", "not cancelable", "HTTP 500", "page"],
)
def test_a_cancellation_that_fails_is_not_sent_again(peer: Peer, answer: Any) -> None:
    """C9: best effort."""
    peer.on("SendMessage", sends(WORKING))
    peer.on("CancelTask", answer)
    step = delegating(peer)
    step.go()
    lifecycle.cancel(step.run.pk)

    step.sweep()
    step.sweep()

    assert step.call.state == CallState.CANCELED
    assert step.call.cancellation == Cancellation.FAILED
    assert peer.count("CancelTask") == 1


def test_a_message_on_its_way_has_no_task_to_cancel(peer: Peer) -> None:
    """C7, C9: nobody knows what becomes of it."""
    agent, run = factories.make_remote_agent(peer.url), factories.make_run("canceled")
    call = factories.make_remote_call(CallState.SENDING, agent=agent, run=run)

    polling.tidy()
    polling.cancel()

    assert (stored(call).state, stored(call).code) == (CallState.UNKNOWN, "abandoned")
    assert peer.connections == 0


def test_two_sweeps_at_once_cancel_once(peer: Peer, postgresql: str) -> None:
    """C9."""
    agent = factories.make_remote_agent(peer.url)
    for _ in range(3):
        factories.make_remote_call(
            CallState.CANCELED,
            agent=agent,
            remote_task_id="R1",
            cancellation=Cancellation.WANTED,
        )
    gate = Gate(CANCELED)
    peer.on("CancelTask", *[gate] * 3, CANCELED)

    with ThreadPoolExecutor(2) as threads:
        sweep = functools.partial(locking.with_own_connection, polling.cancel)
        both = [threads.submit(sweep) for _ in range(2)]
        peer.wait_for("CancelTask", 3)
        gate.open()
        for one in both:
            one.result()

    assert peer.count("CancelTask") == 3


def test_a_message_without_a_run_whose_sender_died_is_lost() -> None:
    """C7: nobody else finds it."""
    long_ago = clock.database_now() - polling.LEFT_ALONE
    left = factories.make_remote_call(CallState.SENDING, now=long_ago)
    fresh = factories.make_remote_call(CallState.SENDING)

    polling.tidy()

    assert (stored(left).state, stored(left).code) == (
        CallState.UNKNOWN,
        ledger.CRASHED,
    )
    assert stored(fresh).state == CallState.SENDING


def test_a_message_of_a_run_is_left_to_the_run() -> None:
    """C7: its segment may still be waiting for the answer, or find the row."""
    long_ago = clock.database_now() - 2 * polling.LEFT_ALONE
    run = factories.make_run(RunState.RUNNING)
    call = factories.make_remote_call(CallState.SENDING, now=long_ago, run=run)

    polling.tidy()

    assert stored(call).state == CallState.SENDING


def test_a_question_without_a_run_is_not_open_for_ever(
    peer: Peer, settings: SettingsWrapper
) -> None:
    """R18: it would count against the agent's limit."""
    settings.AGENT_RUNS_MAX_WAIT_DAYS = 2
    agent = factories.make_remote_agent(peer.url)
    now = clock.database_now()
    old, fresh = (
        factories.make_remote_call(
            CallState.ASKING,
            agent=agent,
            remote_task_id="R1",
            now=now - timedelta(hours=hours),
        )
        for hours in (49, 47)
    )
    peer.on("CancelTask", CANCELED)

    polling.tidy()
    polling.cancel()

    assert (stored(old).state, stored(old).sentence) == (
        CallState.EXPIRED,
        polling.UNANSWERED,
    )
    assert stored(fresh).state == CallState.ASKING
    assert peer.count("CancelTask") == 1


def test_without_the_role_nothing_leaves(peer: Peer, settings: SettingsWrapper) -> None:
    """C1."""
    agent = factories.make_remote_agent(peer.url)
    waiting_run(agent)
    ended = {"remote_task_id": "R1", "cancellation": Cancellation.WANTED}
    factories.make_remote_call(CallState.CANCELED, agent=agent, **ended)
    settings.A2A_CLIENT_ENABLED = False

    polling.poll()
    polling.cancel()

    assert peer.connections == 0


# --- What is kept ---------------------------------------------------------------------

WORDS = "Mail desk@example.org, password=hunter22"
MASKED = "Mail [redacted], password=[redacted]"


@pytest.mark.parametrize(
    ("level", "kept"),
    [("full", WORDS), ("redacted", MASKED), ("metadata", ""), ("none", "")],
)
@pytest.mark.parametrize("answer", ["COMPLETED", "FAILED"])
def test_an_ended_run_leaves_of_its_calls_what_its_level_keeps(
    peer: Peer, level: str, kept: str, answer: str
) -> None:
    """R15, R16: the model had it whole."""
    told = agents.task(answer, say=WORDS)
    peer.on("SendMessage", sends(told))
    provider = factories.make_provider(answer_level=level)
    configuration = factories.make_configuration(provider=provider)
    columns = {"configuration": configuration, "answer_level": level}
    step = delegating(peer, task=WORDS, run=columns)
    step.go()
    polling.reduce()
    assert WORDS in step.result[1]
    assert step.call.result == WORDS

    lifecycle.cancel(step.run.pk)
    polling.reduce()

    assert (step.call.request, step.call.result) == (kept, kept)
    assert "hunter22" not in step.call.sentence


@pytest.mark.parametrize(("level", "kept"), [("full", True), ("metadata", False)])
def test_what_an_administrator_is_shown_is_reduced_as_well(
    peer: Peer, level: str, kept: bool
) -> None:
    """R16."""
    peer.on("SendMessage", scripts.error(-32050, WORDS))
    provider = factories.make_provider(answer_level=level)
    configuration = factories.make_configuration(provider=provider)
    columns = {"configuration": configuration, "answer_level": level}
    step = delegating(peer, run=columns)
    step.go()

    lifecycle.cancel(step.run.pk)
    polling.reduce()

    assert (WORDS in (step.call.detail or "")) is kept
    assert (WORDS in (step.call.result or "")) is kept


def test_the_stricter_level_counts(peer: Peer) -> None:
    """R16: of the run's own and the provider's."""
    peer.on("SendMessage", sends(agents.task(say=WORDS)))
    step = delegating(peer)
    step.go()
    lifecycle.cancel(step.run.pk)
    provider = step.segment.run.configuration.provider  # type: ignore[union-attr]
    provider.answer_level = "none"
    provider.save()

    polling.reduce()

    assert step.call.result == ""


def test_calls_go_with_their_run(peer: Peer) -> None:
    """R18."""
    old = clock.database_now() - retention.retention() - HOUR
    run = factories.make_run("completed", now=old)
    factories.make_remote_call(CallState.COMPLETED, run=run, now=old)

    counts = retention.purge(retention.Purge(older_than=retention.retention()))

    assert counts["remote calls"] == 1
    assert not RemoteCall.objects.exists()


def test_calls_without_a_run_go_after_the_same_time() -> None:
    """R18: those of commands and of people's own code."""
    now, kept = clock.database_now(), retention.retention()
    factories.make_remote_call(CallState.COMPLETED, now=now - kept - HOUR)
    young = factories.make_remote_call(CallState.UNKNOWN, now=now - kept + HOUR)
    active = factories.make_remote_call(CallState.WORKING, now=now - 2 * kept)
    run = factories.make_run("running")
    of_run = factories.make_remote_call(
        CallState.COMPLETED, run=run, now=now - 2 * kept
    )

    polling.purge()

    assert set(RemoteCall.objects.all()) == {young, active, of_run}
