"""`python -m tests.conformance.serve`: the stand, in the foreground until it is stopped.

On PostgreSQL and Redis where `TEST_DATABASE_URL` and `TEST_REDIS_URL` name them, with web
and Celery worker processes; otherwise on SQLite with the sweep. Loopback only.

Standard output is two lines, once the stand serves: base URL and token. SIGTERM and
SIGINT end it with 0, also while it starts, and nothing of it is left behind. Exit 1: the
port is taken, or one of its processes ended unasked; 2: bad options.
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
    from collections.abc import Iterator

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


@contextmanager
def stand(
    directory: Path, *, token: str, deduplicate: bool = False, port: int | None = None
) -> Iterator[Installation]:
    """A serving stand with its worker; everything of it goes when the block ends."""
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
            _start(site, token)
            yield site
        finally:
            _stop_together(site)


def _stop_together(site: Installation) -> None:
    """One after the other would take seconds for each."""
    if site.processes:
        peer.at_once([process.stop for process in site.processes])


def _start(site: Installation, token: str) -> None:
    """All at once, since each takes seconds to load; then wait for all."""
    web = site.start("web", launch.web(site.port))
    # Where Celery works, the sweep has the periodic jobs only.
    options = ("--limit", "0") if site.redis_url else ()
    sweep = site.start("sweep", launch.sweep("--interval", "0.2", *options))
    if site.redis_url:
        celery = site.start("celery", launch.celery_worker(concurrency=4))
    site.manage("conformance_records", token)
    web.wait_for_line("Uvicorn running on")
    if site.redis_url:
        celery.wait_for_line(r"runs@.* ready\.")
    processes.wait_until(
        lambda: site.live_workers() or sweep.popen.poll() is not None,
        seconds=processes.READY_SECONDS,
        what="a worker's heartbeat",
    )


def main() -> int:
    options = _read_options()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    with (
        tempfile.TemporaryDirectory(prefix="a2a-conformance-") as directory,
        stand(
            Path(directory),
            token=options.token,
            deduplicate=options.deduplicate == "on",
            port=options.port,
        ) as site,
    ):
        sys.stdout.write(f"{site.base_url}\n{options.token}\n")
        sys.stdout.flush()
        ended = _wait_for_an_end(site)
        sys.stderr.write(f"{ended.name} ended:\n{ended.output[-4000:]}\n")
    return 1


def _leave(number: int, frame: object) -> None:
    """Leave every block that is open; a second signal does not disturb it."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    raise SystemExit(0)


def _wait_for_an_end(site: Installation) -> Process:
    while True:
        for process in site.processes:
            if process.popen.poll() is not None:
                return process
        time.sleep(_LOOK_SECONDS)


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
