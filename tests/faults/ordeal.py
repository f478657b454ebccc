"""Many runs, each stopped at a moment of its own, and what becomes of them."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests import processes
from tests.drill import model as drill_model
from tests.drill.stand import Stand, stand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tests.drill.model import DrillModel
    from tests.faults.moments import Moment
    from tests.peer import Peer
    from tests.processes import Process

# So many runs are held at once, each by a thread and a connection of one worker.
BATCH = 17
# Tables of the demonstration's newsroom are made where the drill needs them.
APPS = "a2a_project.newsroom tests.drill"
PERMISSIONS = [
    f"newsroom.{action}_{name}"
    for action in ("add", "change", "view")
    for name in ("article", "section")
]
_FACTS = """
    SELECT r.state, r.end_reason, t.state,
        (SELECT count(*) FROM agent_runs_draft d WHERE d.run_id = r.id),
        (SELECT array_agg(e.kind || CASE WHEN e.facts ? 'approved' THEN ' given'
                          ELSE '' END ORDER BY e.sequence)
         FROM agent_runs_agentrunevent e WHERE e.run_id = r.id),
        (SELECT count(*) FROM a2a_server_taskevent e WHERE e.task_id = t.id),
        (SELECT string_agg(c.state, ', ') FROM a2a_client_remotecall c
         WHERE c.run_id = r.id),
        (SELECT string_agg(e.facts->>'outcome', ', ') FROM agent_runs_agentrunevent e
         WHERE e.run_id = r.id AND e.kind = 'tool')
    FROM agent_runs_agentrun r JOIN a2a_server_task t ON t.run_id = r.id
    WHERE r.id = %s
"""
_AS_IF_LATER = (
    "UPDATE agent_runs_agentrun SET nudged_at = now() - interval '61 seconds' WHERE id IN"
    " (SELECT id FROM agent_runs_agentrun WHERE state = 'queued' FOR UPDATE SKIP LOCKED)",
    "UPDATE a2a_client_remotecall SET due_at = now() WHERE id IN (SELECT id FROM"
    " a2a_client_remotecall WHERE due_at IS NOT NULL FOR UPDATE SKIP LOCKED)",
    "UPDATE agent_runs_periodicjobstate SET next_at = now()",
)
_EXACT_EVENTS = {
    drill_model.DRAFT: {
        "request": 1,
        "model": 4,
        "tool": 3,
        "question": 1,
        "answer": 1,
        "approval": 1,
        "approval given": 1,
        "write": 1,
        "settled": 1,
    },
    drill_model.SEND: {"request": 1, "model": 2, "tool": 1, "settled": 1},
    drill_model.HAND_OVER: {"request": 1, "model": 2, "tool": 1, "settled": 1},
    drill_model.FOLLOW: {"request": 1, "model": 2, "tool": 1, "settled": 1},
    drill_model.PASS_ON: {"request": 1, "model": 2, "tool": 1, "settled": 1},
}
# How many there are depends on how far a step that was handed over came.
_OF_HANDOVERS = ("delegation", "question", "answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What is left of a run. `events` without `retries`; `texts` are its artifacts'.

    `calls` are the states of what it handed to remote agents, `results` the outcomes of
    its tools.
    """

    state: str
    reason: str
    task_state: str
    drafts: int
    sent: int
    retries: int
    events: dict[str, int]
    texts: tuple[str, ...]
    calls: str
    results: str
    facts: tuple[Any, ...]

    @property
    def name(self) -> str:
        again = f", {self.retries} lease lost" if self.retries else ""
        draft = f", {self.drafts} draft" if self.drafts else ""
        calls = f", call {self.calls}" if self.calls else ""
        return f"{self.reason}{draft}{calls}{again}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A run that was stopped at its moment."""

    moment: Moment
    name: str
    task_id: str
    run_id: str
    peer: Peer

    @property
    def visit(self) -> str:
        return f"{self.run_id}/{self.moment.visit}"

    @property
    def is_handover(self) -> bool:
        return self.moment.task in drill_model.HANDOVERS

    @property
    def person(self) -> str:
        return f"{self.run_id}/person"


@dataclass(slots=True, kw_only=True)
class Ordeal:
    drill: Stand
    model: DrillModel
    peers: list[Peer] = field(default_factory=list)
    workers: list[Process] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    # --- Workers ----------------------------------------------------------------------

    def start_worker(self, **environment: str) -> Process:
        worker = self.drill.site.start_celery_worker(
            concurrency=BATCH + 1, DRILL_POINTS="on", **environment
        )
        self.workers.append(worker)
        return worker

    def start_sweep(self, *options: str) -> Process:
        often = ("--interval", "0.1")
        sweep = self.drill.site.start_sweep(*often, *options, DRILL_POINTS="on")
        self.workers.append(sweep)
        return sweep

    def end_workers(self) -> None:
        """Those that an accident left behind because it failed."""
        self.drill.gate.open_for_all()
        for worker in self.workers:
            if worker.popen.poll() is None:
                worker.kill()
        self.workers.clear()

    def let_time_pass(self) -> None:
        """As if leases had run out, and a minute had passed since the last nudges."""
        self.drill.expire_leases()
        self.let_nudges_be_repeated()

    def let_nudges_be_repeated(self) -> None:
        """And the periodic jobs and polls are due. Who holds a row is not waited for."""
        for statement in _AS_IF_LATER:
            self.drill.site.rows(statement)

    # --- Runs -------------------------------------------------------------------------

    def stop_at(self, moments: Sequence[Moment]) -> list[Case]:
        """A run for each moment, held there by the worker that is at work."""
        gate = self.drill.gate
        gate.shut()
        cases = [
            self._begin(moment, peer)
            for moment, peer in zip(moments, self.peers, strict=False)
        ]
        for case in cases:
            gate.hold(case.visit, number=case.moment.number)
            if case.moment.visit == "suspend.after":
                # Else another thread of the worker would go on with it meanwhile.
                gate.hold(case.person, number=case.moment.number)
            if case.moment.visit == "suspend.after" and case.is_handover:
                gate.hold(f"{case.run_id}/claim.before", number=2)
        gate.open_for_others()
        for case in cases:
            gate.wait_for(case.visit, count=case.moment.number)
        return cases

    def _begin(self, moment: Moment, peer: Peer) -> Case:
        name = f"{moment.task} {next(self._numbers)}"
        task_id = peer.start(name, skill="editor")
        (run_id,) = self.drill.run_of(task_id, "id")
        self.model.run_ids[name] = str(run_id)
        return Case(
            moment=moment, name=name, task_id=task_id, run_id=str(run_id), peer=peer
        )

    def wait_for_all(self, *, meanwhile: Callable[[], None] | None = None) -> None:
        def have_ended() -> bool:
            if meanwhile:
                meanwhile()
            return not self.drill.count("agent_runs_agentrun WHERE ended_at IS NULL")

        processes.wait_until(have_ended, seconds=90, what="the end of all")

    # --- What became of them ----------------------------------------------------------

    def outcome_of(self, case: Case) -> Outcome:
        (facts,) = self.drill.site.rows(_FACTS, case.run_id)
        state, reason, task_state, drafts, kinds, _, calls, results = facts
        events = Counter(kinds)
        retries = events.pop("retry", 0)
        return Outcome(
            state=state,
            reason=reason,
            task_state=task_state,
            drafts=drafts,
            sent=len(self.drill.gate.visits(f"{case.run_id}/sent")),
            retries=retries,
            events=dict(events),
            texts=_texts(case.peer.task(case.task_id)),
            calls=calls or "",
            results=results or "",
            facts=facts,
        )

    def log_of(self, case: Case, message: str) -> int:
        """How often any process has said so about the run."""
        return sum(
            f'"{message}"' in line and case.run_id in line
            for process in self.drill.site.processes
            for line in process.output.splitlines()
        )


def _texts(task: dict[str, Any]) -> tuple[str, ...]:
    return tuple(
        part["text"]
        for artifact in task.get("artifacts", [])
        for part in artifact["parts"]
        if "text" in part
    )


def problems(case: Case, outcome: Outcome, *, reason: str) -> list[str]:
    """What is wrong with an outcome, whatever the accident was (R3, R12, R13)."""
    moment, found = case.moment, []
    is_completed = reason == "completed"
    if (outcome.reason, outcome.state) != (
        reason,
        "completed" if is_completed else "failed",
    ):
        found.append(f"ended {outcome.state}, {outcome.reason}")
    if outcome.task_state != outcome.state:
        found.append(f"the task is {outcome.task_state}")
    if outcome.events.get("settled") != 1:
        found.append(f"settled {outcome.events.get('settled')} times")
    if outcome.drafts != outcome.events.get("write", 0) or outcome.drafts > 1:
        found.append(f"{outcome.drafts} drafts, events {outcome.events}")
    letters = int(moment.task == drill_model.SEND)
    if outcome.sent > letters or (is_completed and outcome.sent != letters):
        found.append(f"sent {outcome.sent} times")
    if is_completed and _counted(case, outcome) != _EXACT_EVENTS[moment.task]:
        found.append(f"events {outcome.events}")
    if outcome.texts.count(f"{case.name} is done") != int(is_completed):
        found.append(f"artifacts {outcome.texts}")
    return found


def _counted(case: Case, outcome: Outcome) -> dict[str, int]:
    if not case.is_handover:
        return outcome.events
    return {k: n for k, n in outcome.events.items() if k not in _OF_HANDOVERS}


@contextlib.contextmanager
def running(
    directory: Path,
    *,
    database: str,
    redis_url: str,
    agents: Mapping[str, Any] | None = None,
    **environment: str,
) -> Iterator[Ordeal]:
    """Everything but the workers of runs; a person decides what waits.

    `agents` are those of `drill_records`. With them no beat runs: a sweep of the test's
    own does its work.
    """
    with (
        stand(
            directory,
            database=database,
            redis_url=redis_url,
            EXTRA_APPS=APPS,
            AGENT_RUNS_READABLE_MODELS="newsroom.section:name",
            AGENT_RUNS_WRITABLE_MODELS="newsroom.article:title,section,text",
            **environment,
        ) as drill,
        drill_model.running(drill.gate.port) as model,
    ):
        drill.site.manage("migrate", "--verbosity=0")
        made = Ordeal(drill=drill, model=model)
        _make_records(made, agents or {})
        drill.site.start_web()
        if not agents:
            drill.start_periodic_jobs()
        drill.pretend_a_worker()
        person = drill.site.start("person", processes.manage_argv("drill_person"))
        person.wait_for_line("the person is there")
        yield made
        drill.gate.open_for_all()


def _make_records(ordeal: Ordeal, agents: Mapping[str, Any]) -> None:
    # A client's counters are locked by whoever is stopped inside a move.
    names = [f"client-{number}" for number in range(BATCH)]
    skill = {
        "handler": "llm.text",
        "model_url": ordeal.model.base_url,
        "tools": [*drill_model.TOOLS, *(f"a2a_{name}" for name in agents)],
    }
    values = {"workspace": "Newsroom", "permissions": PERMISSIONS}
    clients = {name: dict(values) for name in names}
    ordeal.drill.make_records({"editor": skill}, clients, agents)
    ordeal.drill.site.rows("INSERT INTO newsroom_section (name) VALUES ('News')")
    ordeal.peers = [ordeal.drill.peer(name) for name in names]


def batches(moments: Sequence[Moment]) -> list[Sequence[Moment]]:
    return [moments[at : at + BATCH] for at in range(0, len(moments), BATCH)]
