"""Real processes for tests: an installation of its own with web, workers and beat.

    with processes.installation(tmp_path, database=processes.POSTGRESQL) as site:
        site.start_web()
        site.start_celery_worker()
        ...

Every installation has its own database, Redis prefix, folder and port, and its processes
know nothing of the environment that the tests run in. Output goes to one log file per
process, and «ready» is a line in it. Leaving the block ends every process and drops the
database; a process that had to be killed for it, or that died unasked, fails the test.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import psycopg
import redis
from psycopg import sql

from a2a_project import launch
from tests import databases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

ROOT = databases.ROOT
SQLITE = databases.SQLITE
POSTGRESQL = databases.POSTGRESQL
READY_SECONDS = 60.0
STOP_SECONDS = 45.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def manage_argv(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "manage.py", *arguments)


def wait_until(
    check: Callable[[], object], *, seconds: float = 30.0, what: str = "condition"
) -> None:
    """For what sends no event: another process's row, a port."""
    deadline = time.monotonic() + seconds
    while not check():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not reached within {seconds} s")
        time.sleep(0.02)


class Process:
    """One started program; its lines can be waited for."""

    def __init__(
        self, name: str, argv: Sequence[str], environment: dict[str, str], log: Path
    ) -> None:
        self.name = name
        self.log = log
        self.was_killed = False
        self._lines: list[str] = []
        self._changed = threading.Condition()
        self._is_closed = False
        self.popen = subprocess.Popen(
            argv,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, name=f"log {name}")
        self._reader.start()

    def _read(self) -> None:
        assert self.popen.stdout
        with self.popen.stdout, self.log.open("a", encoding="utf-8") as file:
            for line in self.popen.stdout:
                file.write(line)
                file.flush()
                with self._changed:
                    self._lines.append(line)
                    self._changed.notify_all()
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    @property
    def pid(self) -> int:
        return self.popen.pid

    @property
    def output(self) -> str:
        with self._changed:
            return "".join(self._lines)

    def wait_for_line(self, pattern: str, *, seconds: float = READY_SECONDS) -> str:
        """The first line that matches, also one that was written before."""
        expression = re.compile(pattern)

        def find() -> str | None:
            return next((li for li in self._lines if expression.search(li)), None)

        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or find(), seconds)
            found = find()
        if found is None:
            raise AssertionError(
                f"{self.name} never wrote {pattern!r}:\n{self.output[-4000:]}"
            )
        return found

    def signal(self, number: int) -> None:
        """To the program alone, as a supervisor would."""
        self.popen.send_signal(number)

    def kill(self) -> None:
        """SIGKILL to the program and everything it started; nobody says goodbye."""
        self.was_killed = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._finish(STOP_SECONDS)

    def pause(self) -> None:
        os.killpg(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.killpg(self.pid, signal.SIGCONT)

    def wait(self, *, seconds: float = STOP_SECONDS) -> int:
        """Wait for its own end."""
        self._finish(seconds)
        return self.popen.returncode

    def stop(self, *, seconds: float = STOP_SECONDS) -> int:
        """SIGTERM, then wait; give back the exit code."""
        if self.popen.poll() is None:
            self.signal(signal.SIGTERM)
        try:
            self._finish(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(
                f"{self.name} did not end on SIGTERM:\n{self.output[-4000:]}"
            ) from None
        return self.popen.returncode

    def _finish(self, seconds: float) -> None:
        self.popen.wait(seconds)
        # What it forked may hold the pipe open; it goes with it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._reader.join(seconds)


@dataclass(slots=True, kw_only=True)
class Installation:
    directory: Path
    database_url: str
    redis_url: str
    host: str
    port: int
    environment: dict[str, str]
    processes: list[Process] = field(default_factory=list)

    @property
    def origin(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def base_url(self) -> str:
        return f"{self.origin}/a2a"

    # --- Processes --------------------------------------------------------------------

    def start(self, name: str, argv: Sequence[str], **environment: str) -> Process:
        """Start a program in this installation; it is not waited for."""
        name = f"{name}-{len(self.processes)}"
        log = self.directory / f"{name}.log"
        process = Process(name, argv, self.environment | environment, log)
        self.processes.append(process)
        return process

    def start_web(self, **environment: str) -> Process:
        """A web process on the installation's port."""
        argv = launch.web(self.port, host=self.host)
        process = self.start("web", argv, **environment)
        process.wait_for_line("Uvicorn running on")
        return process

    def start_another_web(self, port: int, **environment: str) -> Process:
        """One more web process, which serves the same base URLs on another port."""
        process = self.start("web", launch.web(port), **environment)
        process.wait_for_line("Uvicorn running on")
        return process

    def start_celery_worker(
        self, *, pool: str = "threads", concurrency: int = 4, **environment: str
    ) -> Process:
        argv = launch.celery_worker(pool=pool, concurrency=concurrency)
        process = self.start("celery", argv, **environment)
        process.wait_for_line(r"runs@.* ready\.")
        return process

    def start_periodic_worker(self, **environment: str) -> Process:
        argv = launch.celery_periodic_worker()
        process = self.start("celery-periodic", argv, **environment)
        process.wait_for_line(r"jobs@.* ready\.")
        return process

    def start_beat(self, **environment: str) -> Process:
        argv = launch.celery_beat(str(self.directory / "beat-schedule"))
        process = self.start("beat", argv, **environment)
        process.wait_for_line("beat: Starting")
        return process

    def start_sweep(self, *options: str, **environment: str) -> Process:
        """`agent_work --loop`, ready when its heartbeat is there."""
        before = self.live_workers()
        process = self.start("sweep", launch.sweep(*options), **environment)
        wait_until(
            lambda: self.live_workers() > before or process.popen.poll() is not None,
            seconds=READY_SECONDS,
            what="the sweep's heartbeat",
        )
        assert process.popen.poll() is None, process.output
        return process

    # --- Commands and state -----------------------------------------------------------

    def manage(
        self,
        *arguments: str,
        check: bool = True,
        seconds: float = 120.0,
        typed: str = "",
        **environment: str,
    ) -> subprocess.CompletedProcess[str]:
        """Run `manage.py` to its end; `typed` is what it finds on standard input."""
        done = subprocess.run(
            manage_argv(*arguments),
            cwd=ROOT,
            env=self.environment | environment,
            input=typed,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        if check and done.returncode:
            raise AssertionError(f"{arguments} ended {done.returncode}:\n{done.stderr}")
        return done

    def seed(self) -> dict[str, Any]:
        """The demonstration records; what they are is given back."""
        demo: dict[str, Any] = json.loads(self.manage("seed_demo", "--json").stdout)
        return demo

    def rows(self, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Read the database from outside; `%s` marks a parameter."""
        if self.database_url.startswith("sqlite"):
            return self._sqlite_rows(query.replace("%s", "?"), parameters)
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            cursor = connection.execute(sql.SQL(query), parameters or None)
            return cursor.fetchall() if cursor.description else []

    def _sqlite_rows(
        self, query: str, parameters: tuple[object, ...]
    ) -> list[tuple[Any, ...]]:
        path = self.database_url.removeprefix("sqlite:///")
        with contextlib.closing(sqlite3.connect(path, timeout=20)) as connection:
            rows = connection.execute(query, parameters).fetchall()
            connection.commit()
            return rows

    def live_workers(self) -> int:
        count: int = self.rows("SELECT count(*) FROM agent_runs_workerheartbeat")[0][0]
        return count

    def redis(self) -> redis.Redis:
        client: redis.Redis = redis.Redis.from_url(self.redis_url)
        return client

    def stop(self) -> None:
        """End everything, newest first; complain about what did not end well."""
        complaints = []
        for process in reversed(self.processes):
            if process.was_killed:
                continue
            try:
                process.stop()
            except AssertionError as error:
                complaints.append(str(error))
        if complaints:
            raise AssertionError("\n".join(complaints))


def _environment(
    directory: Path, host: str, port: int, **values: str
) -> dict[str, str]:
    kept = {"PATH", "HOME", "LANG", "LC_ALL", "TZ", "VIRTUAL_ENV", "TMPDIR"}
    inherited = {name: os.environ[name] for name in kept & set(os.environ)}
    own = {
        "A2A_SERVER_BASE_URLS": f"http://{host}:{port}/a2a",
        "A2A_SERVER_ENABLED": "on",
        "ALLOWED_HOSTS": f"localhost 127.0.0.1 [::1] {host}",
        "DATA_DIR": str(directory),
    }
    return inherited | databases.PRODUCT_ENVIRONMENT | own | values


@contextlib.contextmanager
def installation(
    directory: Path,
    *,
    database: str = SQLITE,
    redis_url: str = "",
    host: str = "127.0.0.1",
    port: int | None = None,
    **environment: str,
) -> Iterator[Installation]:
    """An empty, migrated installation. `environment` adds settings of the product.

    `host` is an address of loopback, and what the installation is known by.

    With `database=POSTGRESQL` the server is the one that `TEST_DATABASE_URL` names.
    """
    directory.mkdir(parents=True, exist_ok=True)
    port = port or free_port()
    name = f"a2a_{secrets.token_hex(6)}"
    with databases.database(directory, database, name) as database_url:
        site = Installation(
            directory=directory,
            database_url=database_url,
            redis_url=redis_url,
            host=host,
            port=port,
            environment=_environment(
                directory,
                host,
                port,
                DATABASE_URL=database_url,
                A2A_REDIS_URL=redis_url,
                A2A_REDIS_PREFIX=name,
                **environment,
            ),
        )
        try:
            yield site
        finally:
            site.stop()
            if redis_url:
                _forget_keys(site.redis(), name)


def _forget_keys(client: redis.Redis, prefix: str) -> None:
    with contextlib.closing(client), contextlib.suppress(redis.RedisError):
        for key in client.scan_iter(f"{prefix}*"):
            client.delete(key)
