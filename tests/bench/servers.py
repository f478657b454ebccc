"""The two servers that a bench compares: ours and the official SDK's."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import urllib.parse
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

from tests import databases, processes
from tests.conformance.serve import make_token
from tests.processes import Process, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

_JSON = {"Content-Type": "application/json", "A2A-Version": "1.0"}
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
SDK_SERVER = Path(__file__).with_name("sdk_server.py")


@dataclass(slots=True, kw_only=True)
class Server:
    """`processes` by what they do; the first is the one that answers."""

    name: str
    port: int
    card_path: str
    processes: dict[str, Process]
    headers: dict[str, str] = field(default_factory=lambda: dict(_JSON))

    def call(self, method: str, params: dict[str, Any]) -> Any:
        answer = httpx2.post(
            f"http://127.0.0.1:{self.port}/a2a",
            json=rpc(method, params),
            headers=self.headers,
            timeout=60,
            trust_env=False,
        ).json()
        if "error" in answer:
            raise RuntimeError(f"{self.name} {method}: {answer['error']}")
        return answer["result"]

    def pin_web(self) -> None:
        """Bind the process that answers, with its threads, to one core."""
        first = min(os.sched_getaffinity(0))
        for thread in Path(f"/proc/{self.processes['web'].pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), {first})

    def send(self, text: str = "echo hello") -> str:
        """A new task's id."""
        result = self.call("SendMessage", send_params(immediate=True, text=text))
        task_id: str = result["task"]["id"]
        return task_id

    def cpu_seconds(self) -> dict[str, float]:
        return {name: _cpu_seconds(p.pid) for name, p in self.processes.items()}


def rpc(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def send_params(
    *, immediate: bool, text: str = "echo hello", message_id: str = ""
) -> dict[str, Any]:
    message = {
        "messageId": message_id or str(uuid.uuid4()),
        "role": "ROLE_USER",
        "parts": [{"text": text}],
    }
    return {"message": message, "configuration": {"returnImmediately": immediate}}


def _cpu_seconds(pid: int) -> float:
    """User and system time of a process and of the children it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(value) for value in fields[11:15]) / _TICKS_PER_SECOND


@contextlib.contextmanager
def ours(directory: Path) -> Iterator[tuple[Server, processes.Installation]]:
    """Web, worker and periodic jobs on PostgreSQL and Redis, with the echoing stand."""
    token = make_token()
    with processes.installation(
        directory,
        database=databases.POSTGRESQL,
        redis_url=os.environ["TEST_REDIS_URL"],
        EXTRA_APPS="tests.conformance tests.bench",
        LOG_LEVEL="WARNING",
    ) as site:
        site.manage("conformance_records", token, "--task-limit", "1000000")
        worker = site.start_celery_worker(concurrency=8)
        site.start_sweep("--limit", "0")
        web = site.start_web()
        headers = _JSON | {"Authorization": f"Bearer {token}"}
        yield (
            Server(
                name="ours",
                port=site.port,
                card_path="/a2a/.well-known/agent-card.json",
                processes={"web": web, "worker": worker},
                headers=headers,
            ),
            site,
        )


@contextlib.contextmanager
def sdk(directory: Path, python: str) -> Iterator[Server]:
    directory.mkdir(parents=True)
    port, name = free_port(), f"a2a_bench_{uuid.uuid4().hex[:12]}"
    with databases.database(directory, databases.POSTGRESQL, name) as url:
        parts = urllib.parse.urlsplit(url)
        database_url = parts._replace(scheme="postgresql+asyncpg").geturl()
        process = Process(
            "sdk",
            [python, str(SDK_SERVER), str(port), database_url],
            {"PATH": os.environ["PATH"]},
            directory / "sdk.log",
        )
        try:
            process.wait_for_line("Uvicorn running on")
            yield Server(
                name="sdk",
                port=port,
                card_path="/.well-known/agent-card.json",
                processes={"web": process},
            )
        finally:
            process.stop()


def load(server: Server, **job: Any) -> dict[str, Any]:
    """Run one round from a process of its own; raise when answers were not expected."""
    before = server.cpu_seconds()
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.load"],
        input=json.dumps({"port": server.port, "headers": server.headers} | job),
        capture_output=True,
        text=True,
        check=True,
        cwd=databases.ROOT,
    )
    result: dict[str, Any] = json.loads(done.stdout)
    if result["unexpected_count"]:
        raise RuntimeError(f"{server.name}: {result['unexpected']}")
    for name, seconds in server.cpu_seconds().items():
        used = (seconds - before[name]) / max(result["requests"], 1)
        result[f"{name}_cpu_ms"] = round(used * 1000, 3)
    return result
