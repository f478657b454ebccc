"""How the processes of an installation are started: the arguments, in one place.

The local runner and the tests use these; `Dockerfile`, `compose.yaml` and the guides say
the same, and a test compares them.
"""

from __future__ import annotations

import sys

# A stream ends with its task; what is still open then is cut.
GRACEFUL_SECONDS = 10
WEB_OPTIONS = (
    # The peer's address is what it is; A2A_TRUSTED_PROXY_COUNT speaks for proxies.
    "--no-proxy-headers",
    "--no-server-header",
    "--no-access-log",
    # Its own lines come before the settings are there, and are JSON like the others.
    "--log-config=uvicorn-logging.json",
    "--loop=uvloop",
    # uvicorn alone bounds neither the headers nor a reader that stopped reading.
    "--http=a2a_project.http:BoundedHttpTools",
    "--ws=none",
    f"--timeout-graceful-shutdown={GRACEFUL_SECONDS}",
)


def web(port: int, *, host: str = "127.0.0.1") -> tuple[str, ...]:
    application = "a2a_project.asgi:application"
    address = (f"--host={host}", f"--port={port}")
    return (sys.executable, "-m", "uvicorn", application, *address, *WEB_OPTIONS)


def sweep(*options: str) -> tuple[str, ...]:
    """The worker that needs no broker; it also runs the periodic jobs."""
    return (sys.executable, "manage.py", "agent_work", "--loop", *options)


def celery_worker(
    *,
    name: str = "runs",
    queue: str = "agent_runs",
    pool: str = "threads",
    concurrency: int = 16,
) -> tuple[str, ...]:
    return (
        *(sys.executable, "-m", "celery", "-A", "a2a_project", "worker"),
        # Two workers of one host must not share a name; %h is the host's.
        *(f"--hostname={name}@%h", f"--queues={queue}"),
        *(f"--pool={pool}", f"--concurrency={concurrency}"),
        *("--without-gossip", "--without-mingle", "--loglevel=INFO"),
    )


def celery_periodic_worker() -> tuple[str, ...]:
    """Its own process, so that the reaper never waits behind runs (W6)."""
    return celery_worker(name="jobs", queue="agent_sweep", concurrency=2)


def celery_beat(schedule_file: str) -> tuple[str, ...]:
    base = (sys.executable, "-m", "celery", "-A", "a2a_project", "beat")
    return (*base, f"--schedule={schedule_file}", "--pidfile=", "--loglevel=INFO")
