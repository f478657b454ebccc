"""`python -m tests.conformance.serve`: the stand, in the foreground until it is stopped.

On PostgreSQL and Redis where `TEST_DATABASE_URL` and `TEST_REDIS_URL` name them, with web
and Celery worker processes; otherwise on SQLite with the sweep. Loopback only.

Standard output is two lines, once the stand serves: base URL and token. SIGTERM and
SIGINT end it with 0, between two steps while it starts, and nothing of it is left behind.
Exit 1: the port is taken, or one of its processes ended unasked; 2: bad options.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from a2a_project import launch
from tests import databases, peer, processes
from tests.conformance.tokens import is_token, make_token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.processes import Installation, Process

# They are alike until there is something to switch off.
PROFILES = ("full", "minimal")
SETTINGS = {
    "EXTRA_APPS": "tests.conformance",
    "A2A_SERVER_BLOCKING_WAIT_SECONDS": "5",
    # Kits fail on purpose; no limit may be met below fifty calls a second.
    "A2A_SERVER_AUTH_FAILURES": "1000/10",
}
USAGE = (
    "make conformance-server [PROFILE=full|minimal] [PORT=9999] [TOKEN=a2a_…] "
    "[DEDUPLICATE=on|off]"
)
_LOOK_SECONDS = 0.5


class Stopped(Exception):  # noqa: N818 -- a way out, not a failure
    """It was told to stop while it started."""


@contextmanager
def stand(
    directory: Path,
    *,
    token: str,
    deduplicate: bool = False,
    port: int | None = None,
    is_told_to_stop: Callable[[], bool] = lambda: False,
) -> Iterator[Installation]:
    """A serving stand with its worker; everything of it goes when the block ends.

    Raises `Stopped` when it is told to stop before it serves.
    """
    has_services = os.environ.get("TEST_DATABASE_URL", "").startswith("postgres")
    redis_url = os.environ.get("TEST_REDIS_URL", "") if has_services else ""
    with processes.installation(
        directory,
        port=port,
        database=databases.POSTGRESQL if has_services else databases.SQLITE,
        redis_url=redis_url,
        A2A_SERVER_DEDUPLICATE_MESSAGES="on" if deduplicate else "off",
        **SETTINGS,
    ) as site:
        try:
            for step in _steps(site, token):
                if is_told_to_stop():
                    raise Stopped
                step()
            yield site
        finally:
            _stop_together(site)


def _stop_together(site: Installation) -> None:
    """One after the other would take seconds for each."""
    if site.processes:
        peer.at_once([process.stop for process in site.processes])


def _steps(site: Installation, token: str) -> list[Callable[[], object]]:
    """All start at once, since each takes seconds to load; then each is waited for."""
    # Where Celery works, the sweep has the periodic jobs only.
    options = ("--limit", "0") if site.redis_url else ()
    ready_lines = {"web": "Uvicorn running on"}
    steps: list[Callable[[], object]] = [
        lambda: site.start("web", launch.web(site.port)),
        lambda: site.start("sweep", launch.sweep("--interval", "0.2", *options)),
    ]
    if site.redis_url:
        ready_lines["celery"] = r"runs@.* ready\."
        steps.append(lambda: site.start("celery", launch.celery_worker(concurrency=4)))
    return [
        *steps,
        lambda: site.manage("conformance_records", token),
        lambda: _wait_for_lines(site, ready_lines),
        lambda: _wait_for_a_worker(site),
    ]


def _wait_for_lines(site: Installation, lines: dict[str, str]) -> None:
    for process in site.processes:
        line = lines.get(process.name.partition("-")[0])
        if line:
            process.wait_for_line(line)


def _wait_for_a_worker(site: Installation) -> None:
    processes.wait_until(
        lambda: site.live_workers() or _ended_process(site),
        seconds=processes.READY_SECONDS,
        what="a worker's heartbeat",
    )


def main() -> int:
    options = _read_options()
    # Noted, not raised: in the middle of a start, an exception would lose the process
    # that was just started.
    told: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: told.append(number))
    try:
        return _serve(options, lambda: bool(told))
    except Exception:
        # `Stopped`; or from a terminal the signal reached what it waits for, which failed.
        if told:
            return 0
        raise


def _serve(options: argparse.Namespace, is_told_to_stop: Callable[[], bool]) -> int:
    with (
        tempfile.TemporaryDirectory(prefix="a2a-conformance-") as directory,
        stand(
            Path(directory),
            token=options.token,
            deduplicate=options.deduplicate == "on",
            port=options.port,
            is_told_to_stop=is_told_to_stop,
        ) as site,
    ):
        sys.stdout.write(f"{site.base_url}\n{options.token}\n")
        sys.stdout.flush()
        while not is_told_to_stop():
            ended = _ended_process(site)
            if ended:
                sys.stderr.write(f"{ended.name} ended:\n{ended.output[-4000:]}\n")
                return 1
            time.sleep(_LOOK_SECONDS)
    return 0


def _ended_process(site: Installation) -> Process | None:
    ended = (each for each in site.processes if each.popen.poll() is not None)
    return next(ended, None)


# --- Options --------------------------------------------------------------------------


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make conformance-server", usage=USAGE)
    parser.add_argument("--profile", choices=PROFILES, default="full")
    parser.add_argument("--port", type=_port, default=9999)
    parser.add_argument("--token", type=_token, default="")
    parser.add_argument("--deduplicate", choices=("on", "off"), default="off")
    options = parser.parse_args()
    if not _is_free(options.port):
        parser.exit(1, f"Port {options.port} is taken. Name another one with PORT=….\n")
    return options


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 2**16:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port (1…65535).")
    return int(text)


def _token(text: str) -> str:
    """What is given, or a new one for nothing."""
    if text and not is_token(text):
        raise argparse.ArgumentTypeError(
            "a client's token is a2a_, 12 characters of a-z and 0-9, _ and 43 characters "
            "of base64url. Without TOKEN one is made and printed."
        )
    return text or make_token()


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As the web process will: what only lingers from a former one is no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


if __name__ == "__main__":
    sys.exit(main())
