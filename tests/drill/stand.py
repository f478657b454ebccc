"""An installation with the drill's handlers, the gate that they wait at, and peers."""

from __future__ import annotations

import contextlib
import json
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from a2a_project import launch
from tests import peer, processes
from tests.drill.gate import gate
from tests.peer import Peer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.drill.gate import Gate
    from tests.processes import Installation, Process

SKILLS = ("read_only", "idempotent", "writing", "stepwise", "answering")


@dataclass(slots=True, kw_only=True)
class Stand:
    """`tokens` by the client's name."""

    site: Installation
    gate: Gate
    tokens: dict[str, str] = field(default_factory=dict)
    _resources: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def make_records(
        self,
        skills: dict[str, Any] | None = None,
        clients: dict[str, Any] | None = None,
        agents: Mapping[str, Any] | None = None,
    ) -> None:
        """Without arguments: a skill for each handler and one client that may use all."""
        if skills is None:
            skills = {name: {"handler": f"drill.{name}"} for name in SKILLS}
        if clients is None:
            clients = {"client": {}}
        for values in clients.values():
            values.setdefault("skills", list(skills))
        records = json.dumps(
            {"skills": skills, "clients": clients, "agents": agents or {}}
        )
        done = self.site.manage("drill_records", records)
        self.tokens |= json.loads(done.stdout)

    def open(self, **web: str) -> None:
        """A web process and, meanwhile, the usual records. `web`: its environment."""
        process = self.site.start("web", launch.web(self.site.port), **web)
        self.make_records()
        process.wait_for_line("Uvicorn running on")

    def start_all_workers(self, *, concurrency: int = 8) -> Process:
        """What a larger installation runs beside the web; gives the worker of runs."""
        argv = launch.celery_worker(concurrency=concurrency)
        worker = self.site.start("celery", argv)
        self.start_periodic_jobs()
        worker.wait_for_line(r"runs@.* ready\.")
        return worker

    def start_periodic_jobs(self) -> None:
        """Reaper and the like, in a process of their own as in a larger installation."""
        schedule = str(self.site.directory / "beat-schedule")
        argvs = {
            "celery-periodic": launch.celery_periodic_worker(),
            "beat": launch.celery_beat(schedule),
        }
        started = [self.site.start(name, argv) for name, argv in argvs.items()]
        for process in started:
            process.wait_for_line(r"jobs@.* ready\.|beat: Starting")

    def pretend_a_worker(self, *, seen_ago: float = 0.0) -> None:
        """A heartbeat of a worker that takes nothing."""
        self.site.rows(
            "INSERT INTO agent_runs_workerheartbeat (worker_id, transport, queues, "
            "last_seen_at, started_at, version, concurrency) VALUES (%s, 'celery', "
            "'agent_runs', now() - make_interval(secs => %s), now(), 'drill', 1)",
            secrets.token_hex(16),
            seen_ago,
        )

    def peer(self, name: str = "client", *, port: int | None = None) -> Peer:
        """A client by its name; `port` chooses among several web processes."""
        made = Peer(self.site.base_url, self.tokens[name], port=port)
        return self._resources.enter_context(made)

    def run_of(self, task_id: str, *columns: str) -> tuple[Any, ...]:
        """Columns of the run behind a task."""
        (row,) = self.site.rows(
            f"SELECT {', '.join(columns)} FROM agent_runs_agentrun WHERE id = "  # noqa: S608
            "(SELECT run_id FROM a2a_server_task WHERE id = %s)",
            task_id,
        )
        return row

    def count(self, table: str) -> int:
        number: int = self.site.rows(f"SELECT count(*) FROM {table}")[0][0]  # noqa: S608
        return number

    def waiting_slots(self) -> int:
        """How many requests wait in the installation, by its own count."""
        prefix = self.site.environment["A2A_REDIS_PREFIX"]
        with contextlib.closing(self.site.redis()) as client:
            number: int = client.zcard(f"{prefix}:a2a:waiting")
            return number

    def expire_leases(self) -> None:
        """As if a minute had passed without a renewal."""
        self.site.rows(
            "UPDATE agent_runs_agentrun SET lease_expires_at = "
            "now() - interval '1 second' WHERE lease_expires_at IS NOT NULL"
        )


@contextlib.contextmanager
def stand(
    directory: Path,
    *,
    database: str,
    redis_url: str = "",
    host: str = "127.0.0.1",
    **environment: str,
) -> Iterator[Stand]:
    """Nothing runs in it yet, and there are no records."""
    with (
        gate() as opened,
        contextlib.ExitStack() as resources,
        processes.installation(
            directory,
            database=database,
            redis_url=redis_url,
            host=host,
            **{"EXTRA_APPS": "tests.drill"}
            | {"DRILL_GATE_PORT": str(opened.port)}
            | environment,
        ) as site,
    ):
        yield Stand(site=site, gate=opened, _resources=resources)
        # Whoever still waits there would keep its worker from ending.
        opened.open_for_all()
        _stop_together(site)


def _stop_together(site: Installation) -> None:
    """One after the other would take seconds for each."""
    running = [process for process in site.processes if process.popen.poll() is None]
    if running:
        peer.at_once([process.stop for process in running])
