"""`python -m tests.conformance.serve`: the stand, in the foreground until it is stopped.

On PostgreSQL and Redis where `TEST_DATABASE_URL` and `TEST_REDIS_URL` name them, with web
and Celery worker processes; otherwise on SQLite with the sweep. Loopback only.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests import databases, processes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.processes import Installation

# `full` and `required-extension` differ from `minimal` once there is more to switch on.
PROFILES = ("minimal", "full")
_PREFIX_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
BLOCKING_SECONDS = "5"


def make_token() -> str:
    prefix = "".join(secrets.choice(_PREFIX_ALPHABET) for _ in range(12))
    return f"a2a_{prefix}_{secrets.token_urlsafe(32)}"


@contextmanager
def stand(
    directory: Path, *, token: str, deduplicate: bool = False, port: int | None = None
) -> Iterator[Installation]:
    """A serving stand with its worker; everything of it goes when the block ends."""
    has_services = bool(os.environ.get("TEST_DATABASE_URL"))
    redis_url = os.environ.get("TEST_REDIS_URL", "") if has_services else ""
    with processes.installation(
        directory,
        port=port,
        database=databases.POSTGRESQL if has_services else databases.SQLITE,
        redis_url=redis_url,
        EXTRA_APPS="tests.conformance",
        A2A_SERVER_DEDUPLICATE_MESSAGES="on" if deduplicate else "off",
        A2A_SERVER_BLOCKING_WAIT_SECONDS=BLOCKING_SECONDS,
    ) as site:
        site.manage("conformance_records", token)
        if redis_url:
            site.start_celery_worker()
        site.start_sweep("--interval", "0.2", *(["--limit", "0"] if redis_url else []))
        site.start_web()
        yield site


def main() -> int:
    options = _read_options()
    token = options.token or make_token()
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    with (
        tempfile.TemporaryDirectory(prefix="a2a-conformance-") as directory,
        stand(
            Path(directory),
            token=token,
            deduplicate=options.deduplicate == "on",
            port=options.port,
        ) as site,
    ):
        sys.stdout.write(f"{site.base_url}\n{token}\n")
        sys.stdout.flush()
        stopped.wait()
    return 0


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make conformance-server")
    parser.add_argument("--profile", choices=PROFILES, default="full")
    parser.add_argument("--port", type=int, default=9999)
    parser.add_argument("--token", default="", help="in the form a client's token has")
    parser.add_argument("--deduplicate", choices=("on", "off"), default="off")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
