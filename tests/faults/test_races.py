"""Two at the same moment, for every pair that may meet at a run (R3, R9, R14, T10, T12).

Each pair meets many times, each time at a new run with a task. One of the two has a head
start of a few statements, in turns: both are first sometimes.
"""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pytest
from django.contrib.contenttypes.models import ContentType
from django.db import connection, connections

from a2a_project.newsroom.models import Article
from a2a_server.models import TaskEvent, TaskState
from a2a_server.projection import TASK_STATES
from agent_runs import clock, deciding, lifecycle, queue, workspaces
from agent_runs.contents import Result, text_output
from agent_runs.models import AgentRun, AgentRunEvent, Draft, RunState
from agent_runs.models.run import EventKind
from agent_runs.waiting import ShownCall, open_approval
from agent_runs.workspaces import PublishRefused
from tests import factories
from tests.agent_runs import drafts
from tests.faults import report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from django.contrib.auth.models import User
    from pytest_django.fixtures import SettingsWrapper

    from a2a_server.models import Client, Profile, Task

pytestmark = [
    pytest.mark.faults,
    pytest.mark.services,
    pytest.mark.timeout(120),
    pytest.mark.django_db(transaction=True),
]

ROUNDS = 60
# Statements that the later one makes first, in turns.
_HEAD_STARTS = (0, 1, 2, 4, 8)
_APPROVED_CALL = (
    '{"model": "newsroom.article", "values": {"title": "T", "section": 1, "text": "x"}}'
)


# --- The ring -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Bout:
    """What the two do, each saying how it ended."""

    first: Callable[[], str]
    second: Callable[[], str]


class Ring:
    """Two threads, each with a connection of its own that it keeps."""

    def __init__(self) -> None:
        self._threads = [ThreadPoolExecutor(1), ThreadPoolExecutor(1)]
        self._barrier = threading.Barrier(2)

    def fight(self, bout: Bout, number: int) -> tuple[str, str]:
        late = number % 2
        handicap = _HEAD_STARTS[number // 2 % len(_HEAD_STARTS)]
        both = [
            thread.submit(self._act, act, handicap if who == late else 0)
            for who, (thread, act) in enumerate(
                zip(self._threads, (bout.first, bout.second), strict=True)
            )
        ]
        return both[0].result(), both[1].result()

    def _act(self, act: Callable[[], str], handicap: int) -> str:
        connection.ensure_connection()
        self._barrier.wait(10)
        with connection.cursor() as cursor:
            for _ in range(handicap):
                cursor.execute("SELECT 1")
        return act()

    def close(self) -> None:
        for thread in self._threads:
            thread.submit(connections.close_all).result()
            thread.shutdown()


@pytest.fixture
def ring() -> Iterator[Ring]:
    made = Ring()
    yield made
    made.close()


def _fight(
    ring: Ring, pair: str, make: Callable[[], tuple[Bout, Callable[[], None]]]
) -> set[tuple[str, str]]:
    """Every outcome that was seen, as what the first and the second said."""
    seen: Counter[tuple[str, str]] = Counter()
    for number in range(ROUNDS):
        bout, check = make()
        seen[ring.fight(bout, number)] += 1
        check()
    first, second = pair.split("/")
    told = [
        f"{first} {a}, {second} {b}" for (a, b), n in seen.items() for _ in range(n)
    ]
    report.add("race", pair, told)
    return set(seen)


# --- What they fight about ------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Those who are there in every round."""

    client: Client
    profile: Profile
    person: User

    def task(self, state: RunState, **values: object) -> Task:
        run = factories.make_run(state, owner=self.client.technical_user, **values)
        return factories.make_task(
            TASK_STATES[state], run=run, client=self.client, profile=self.profile
        )


@pytest.fixture
def cast(postgresql: str, settings: SettingsWrapper) -> Cast:
    drafts.allow(settings)
    ContentType.objects.clear_cache()
    profile = factories.make_profile()
    return Cast(
        client=factories.make_client(profiles=[profile]),
        profile=profile,
        person=factories.make_user("person", is_superuser=True),
    )


def _approval() -> object:
    call = ShownCall(call_id="c1", tool="draft_record", arguments=_APPROVED_CALL)
    return open_approval([call])


def _answer(task: Task, cast: Cast, text: str) -> str:
    try:
        deciding.answer(task.run_id, text, by=deciding.of_user(cast.person))
    except deciding.NotWaiting:
        return "lost"
    return "won"


def _decide(task: Task, cast: Cast, *, approve: bool) -> str:
    run = task.run
    try:
        deciding.decide(run.id, run.waiting_id, approve=approve, user=cast.person)
    except deciding.NotWaiting:
        return "lost"
    return "won"


def _cancel(task: Task) -> str:
    return "won" if lifecycle.cancel(task.run_id) else "lost"


def _check(task: Task) -> None:
    """Whoever won: one story, told the same by run, events and task."""
    run = AgentRun.objects.get(id=task.run_id)
    task.refresh_from_db()
    kinds = Counter(
        AgentRunEvent.objects.filter(run=run).values_list("kind", flat=True)
    )
    told = TaskEvent.objects.filter(task=task).count()

    assert task.state == TASK_STATES[RunState(run.state)]
    assert kinds[EventKind.SETTLED] == int(RunState(run.state).is_terminal)
    assert kinds[EventKind.ANSWER] <= 1
    assert kinds[EventKind.APPROVAL] <= 1
    assert (kinds.total(), told) == (run.events_written, task.events_written)
    assert (run.lease_owner == "") == (run.state != RunState.RUNNING)
    assert run.pending is None or run.state == RunState.QUEUED


# --- The pairs ------------------------------------------------------------------------


def test_answer_against_cancel(ring: Ring, cast: Cast) -> None:
    """R14, T10: a cancellation always succeeds, after an answer too."""

    def make() -> tuple[Bout, Callable[[], None]]:
        task = cast.task(RunState.WAITING_FOR_INPUT)
        bout = Bout(
            first=partial(_answer, task, cast, "blue"), second=partial(_cancel, task)
        )
        return bout, partial(_check_state, task, TaskState.CANCELED)

    seen = _fight(ring, "answer/cancel", make)

    assert seen <= {("won", "won"), ("lost", "won")}


def _check_state(task: Task, *states: TaskState) -> None:
    _check(task)
    assert task.state in states


def test_answer_against_answer(ring: Ring, cast: Cast) -> None:
    """T10: one is taken, and the other is told that nothing waits."""

    def make() -> tuple[Bout, Callable[[], None]]:
        task = cast.task(RunState.WAITING_FOR_INPUT)
        bout = Bout(
            first=partial(_answer, task, cast, "blue"),
            second=partial(_answer, task, cast, "red"),
        )
        return bout, partial(_check_state, task, TaskState.WORKING)

    seen = _fight(ring, "answer/answer", make)

    assert seen <= {("won", "lost"), ("lost", "won")}


def test_approve_against_deny(ring: Ring, cast: Cast) -> None:
    """T12: one verdict covers the turn."""

    def make() -> tuple[Bout, Callable[[], None]]:
        task = cast.task(RunState.WAITING_FOR_APPROVAL, waiting=_approval())
        bout = Bout(
            first=partial(_decide, task, cast, approve=True),
            second=partial(_decide, task, cast, approve=False),
        )
        return bout, partial(_check_state, task, TaskState.WORKING)

    seen = _fight(ring, "approve/deny", make)

    assert seen <= {("won", "lost"), ("lost", "won")}


def test_approve_against_cancel(ring: Ring, cast: Cast) -> None:
    """R14, T12: what is canceled stays so, whoever approves it meanwhile."""

    def make() -> tuple[Bout, Callable[[], None]]:
        task = cast.task(RunState.WAITING_FOR_APPROVAL, waiting=_approval())
        bout = Bout(
            first=partial(_decide, task, cast, approve=True),
            second=partial(_cancel, task),
        )
        return bout, partial(_check_state, task, TaskState.CANCELED)

    seen = _fight(ring, "approve/cancel", make)

    assert seen <= {("won", "won"), ("lost", "won")}


def test_cancel_against_settle(ring: Ring, cast: Cast) -> None:
    """R3, R14: terminal is final, whichever it is."""

    def make() -> tuple[Bout, Callable[[], None]]:
        task = cast.task(RunState.RUNNING)
        lease = lifecycle.Lease(run_id=task.run_id, owner=task.run.lease_owner)
        bout = Bout(first=partial(_cancel, task), second=partial(_settle, lease))
        ends = TaskState.CANCELED, TaskState.COMPLETED
        return bout, partial(_check_state, task, *ends)

    seen = _fight(ring, "cancel/settle", make)

    assert seen <= {("won", "lost"), ("lost", "won")}


def _settle(lease: lifecycle.Lease) -> str:
    result = Result(outputs=(text_output("It is done."),))
    now = clock.database_now()
    won = lifecycle.complete(lease, result=result, truncated=False, now=now)
    return "won" if won else "lost"


def test_reap_against_renew(ring: Ring, cast: Cast) -> None:
    """R9, R11: a lease that has run out is prolonged or taken away, never both."""

    def make() -> tuple[Bout, Callable[[], None]]:
        # The lease of a record made by hand ends when it begins.
        task = cast.task(RunState.RUNNING)
        lease = lifecycle.Lease(run_id=task.run_id, owner=task.run.lease_owner)
        bout = Bout(first=partial(_reap, task), second=partial(_renew, lease))
        return bout, partial(_check_reaped, task)

    seen = _fight(ring, "reap/renew", make)

    assert seen <= {("won", "lost"), ("lost", "won")}


def _reap(task: Task) -> str:
    queue.reap()
    state = AgentRun.objects.values_list("state", flat=True).get(id=task.run_id)
    return "won" if state == RunState.QUEUED else "lost"


def _renew(lease: lifecycle.Lease) -> str:
    return "won" if lifecycle.renew(lease, now=clock.database_now()) else "lost"


def _check_reaped(task: Task) -> None:
    _check_state(task, TaskState.WORKING)
    # What was renewed must not be reaped in the next round.
    lifecycle.cancel(task.run_id)


def test_publish_against_publish(ring: Ring, cast: Cast) -> None:
    """T16: one record for one draft."""
    run = drafts.make_run()

    def make() -> tuple[Bout, Callable[[], None]]:
        draft = drafts.make_draft(run)
        act = partial(_publish, draft, cast)
        before = Article.objects.count()
        return Bout(first=act, second=act), partial(_check_published, draft, before)

    seen = _fight(ring, "publish/publish", make)

    assert seen <= {("won", "lost"), ("lost", "won")}


def _publish(draft: Draft, cast: Cast) -> str:
    try:
        workspaces.publish(draft.id, user=cast.person)
    except PublishRefused:
        return "lost"
    return "won"


def _check_published(draft: Draft, before: int) -> None:
    draft.refresh_from_db()
    assert Article.objects.count() == before + 1
    assert Article.objects.filter(pk=draft.object_id).exists()
