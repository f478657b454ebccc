"""The records that inputs meet, the worker that ends their tasks, and what was stored."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from a2a_server import conf, executor, redis_access
from a2a_server.models import Client, Profile, Task, TaskMessage, TaskState, WaitingSlot
from agent_runs import clock, handlers, lifecycle
from agent_runs.contents import Result, TextPart, text_output
from agent_runs.models import AgentRun, EndReason, RunState, WorkerHeartbeat
from tests import factories
from tests.a2a_server.calling import AnsweringHandler, SilentHandler, make_task
from tests.fuzz.inputs import Names

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from agent_runs.lifecycle import Lease

_MANY: Final = 1_000_000
# One run in so many is left alone for longer than a request may wait.
_SLOW: Final = 8
_SLOW_TIME: Final = timedelta(seconds=3)


@dataclass(slots=True)
class Records:
    """`announced` are the tasks that were prepared or that answers have told of."""

    names: Names
    usual: Client
    skill: Profile
    announced: set[str] = field(default_factory=set)
    prepared: int = 0

    def prepare_tasks(self) -> None:
        """New tasks in place of those that inputs have changed meanwhile."""
        made = [self._make_task(state) for state in _STATES]
        self.names.tasks[:] = made
        self.announced |= set(made)
        self.prepared += len(made)

    def _make_task(self, state: TaskState) -> str:
        task = make_task(state, client=self.usual, profile=self.skill)
        # Not for the worker here.
        AgentRun.objects.filter(pk=task.run_id, state=RunState.QUEUED).update(
            due_at=clock.database_now() + timedelta(days=1)
        )
        return str(task.pk)

    def unannounced(self) -> list[str]:
        """Tasks that no answer told of, and the announced that are not there."""
        stored = {str(pk) for pk in Task.objects.values_list("pk", flat=True)}
        return sorted(stored ^ self.announced)


def make_records() -> Records:
    factories.make_worker()
    skills = _make_skills()
    usual = factories.make_client("usual", profiles=[skills[0]], task_limit=_MANY)
    clients = [
        usual,
        factories.make_client("several", profiles=skills, task_limit=_MANY),
        factories.make_client("tight", profiles=[skills[0]], task_limit=1),
        factories.make_client("bare"),
    ]
    dead = [
        factories.make_client("disabled", profiles=skills, is_enabled=False),
        factories.make_client("expired", expires_at=clock.database_now()),
    ]
    foreign = make_task(TaskState.WORKING, client=clients[1], profile=skills[0])
    names = Names(
        tokens=[factories.token_of(client).text for client in clients],
        dead_tokens=[
            *(factories.token_of(client).text for client in dead),
            factories.Token(999_999).text,
        ],
        foreign_tasks=[str(foreign.pk)],
        skills=["few", *(skill.skill_id for skill in skills), "no-such-skill"],
    )
    records = Records(names=names, usual=usual, skill=skills[0])
    records.announced.add(str(foreign.pk))
    records.prepared = 1
    records.prepare_tasks()
    return records


_STATES: Final = [
    state
    for state in TaskState
    if state not in {TaskState.AUTH_REQUIRED, TaskState.INPUT_REQUIRED}
]


def _make_skills() -> list[Profile]:
    for handler in (SilentHandler(), AnsweringHandler()):
        handlers.register(handler)
    silent = {"handler": SilentHandler.name, "configuration": None}
    closed = factories.make_configuration(
        provider=factories.make_provider(answer_level="none")
    )
    return [
        factories.make_profile("silent", **silent),
        factories.make_profile("few", active_task_quota=1, **silent),
        factories.make_profile(
            "answering", handler=AnsweringHandler.name, configuration=None
        ),
        factories.make_profile("keeps-nothing", configuration=closed),
        factories.make_profile("writing", may_write=True, **silent),
        factories.make_profile("withdrawn", is_public=False, **silent),
    ]


# --- A worker -------------------------------------------------------------------------


def show_worker(*, is_there: bool) -> None:
    age = timedelta() if is_there else timedelta(hours=1)
    WorkerHeartbeat.objects.update(last_seen_at=clock.database_now() - age)


async def work_for_ever() -> None:
    while True:
        await executor.run(_end_some)
        await asyncio.sleep(0.1)


def _end_some() -> None:
    """End what is queued: most with a result, some in every other way.

    Some are left alone for longer than a request may wait, and all of the skill that
    takes only one at a time.
    """
    now = clock.database_now()
    due = AgentRun.objects.filter(state=RunState.QUEUED, due_at__lte=now)
    due = due.order_by("created_at")
    columns = ("pk", "created_at", "task__profile__skill_id")
    for run_id, created_at, skill in due.values_list(*columns)[:50]:
        is_slow = skill == "few" or run_id.int % _SLOW == 0
        if is_slow and created_at > now - _SLOW_TIME:
            continue
        lease = lifecycle.claim(run_id, owner="fuzz", now=clock.database_now())
        if lease:
            _end(run_id, lease)


def _end(run_id: UUID, lease: Lease) -> None:
    now = clock.database_now()
    kind = run_id.int // _SLOW % 8
    if kind == 0:
        lifecycle.fail(run_id, EndReason.NOT_RETRYABLE, now=now, lease=lease)
    elif kind == 1:
        lifecycle.reject(lease, detail="It was not for us.", now=now)
    elif kind == 2:
        lifecycle.cancel(run_id)
    else:
        run = AgentRun.objects.get(pk=run_id)
        is_message = run.handler == AnsweringHandler.name
        parts = (TextPart(text="Done."),)
        result = Result(message=parts) if is_message else Result(outputs=_OUTPUTS)
        lifecycle.complete(lease, result=result, truncated=False, now=now)


_OUTPUTS: Final = (text_output("Done."),)


# --- What was stored ------------------------------------------------------------------


def leftovers(records: Records, *, lost: int) -> Iterable[str]:
    """What refused requests left behind; `lost` answers reached nobody."""
    strange = records.unannounced()
    if len(strange) > lost:
        yield f"tasks that no answer told of: {strange[:5]}"
    records.announced ^= set(strange)
    tasks = Task.objects.count()
    if AgentRun.objects.count() != tasks:
        yield "runs without a task"
    if TaskMessage.objects.count() != tasks - records.prepared:
        yield "messages without a task"
    if _taken_slots():
        yield "waiting slots that nobody waits in"


def _taken_slots() -> int:
    if not redis_access.is_configured():
        return WaitingSlot.objects.count()
    key = conf.redis_key("waiting")
    return redis_access.run(lambda client: int(client.zcard(key)))
