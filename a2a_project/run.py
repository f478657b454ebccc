"""`make run`: a serving gateway on this machine, for trying out and for development.

Prepares the folder with its secrets, database and demonstration, starts a web process and
the embedded worker, says how to reach them once both work, and stops both when it is told
to stop or when one of them ends. Everything it needs is in the folder; it listens on the
loopback address only.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import io
import os
import secrets
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import django
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import DatabaseError, connections

from a2a_project import children, launch
from a2a_protocol.cards import PROFILE_EXTENSION_URI

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from datetime import datetime

    from a2a_server.demo import Demo

HOST = "127.0.0.1"
# Without quotation marks, since it stands in a line for the shell.
SAMPLE = (
    "The team met on Monday. The release moves to May, because the import is not ready. "
    "The import is rewritten until then, and the release notes say so. Somebody brought "
    "cake. Lena writes the release notes."
)
READY_SECONDS = 90.0
_LOOK_EVERY = 0.1


class RunError(Exception):
    """It cannot go on; the sentence is for the person at the terminal."""


# --- The folder -----------------------------------------------------------------------


def prepare_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise RunError(f"{folder} cannot be used: {error.strerror}.") from error


def kept_secret(file: Path, make: Callable[[], str]) -> str:
    """The secret in the file; made once, readable by its owner only."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        kept = file.read_text(encoding="ascii").strip()
        if not kept:
            raise RunError(
                f"{file} is empty; remove it to have it made anew."
            ) from None
        return kept
    secret = make()
    with os.fdopen(descriptor, "w", encoding="ascii") as opened:
        opened.write(secret + "\n")
    return secret


def _encryption_key() -> str:
    return base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()


def settings_of(folder: Path, port: int) -> dict[str, str]:
    """What the processes are told; other settings of the environment stay as they are."""
    keys = kept_secret(folder / "encryption_keys", _encryption_key)
    secret_key = kept_secret(folder / "secret_key", lambda: secrets.token_urlsafe(50))
    return {
        "A2A_ENCRYPTION_KEYS": keys,
        "A2A_REDIS_URL": "",
        "A2A_SERVER_BASE_URLS": f"http://{HOST}:{port}/a2a",
        "A2A_SERVER_ENABLED": "on",
        "DATABASE_URL": f"sqlite:///{folder / 'a2a.sqlite3'}",
        "DATA_DIR": str(folder),
        "DEBUG": "off",
        "HTTPS": "off",
        "SECRET_KEY": secret_key,
    }


def prepare_installation() -> Demo:
    """Migrate and seed; Django is set up in this process for it."""
    django.setup()
    from a2a_server import demo

    try:
        call_command("check", stdout=io.StringIO(), stderr=io.StringIO())
        call_command("migrate", verbosity=0)
        return demo.seed()
    except SystemCheckError as error:
        raise RunError(str(error)) from error
    except DatabaseError as error:
        raise RunError(f"The database cannot be used: {error}") from error
    finally:
        connections.close_all()


# --- Readiness ------------------------------------------------------------------------


async def check_port(port: int) -> None:
    try:
        server = await asyncio.start_server(lambda *_: None, HOST, port)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "it cannot be opened"
        raise RunError(
            f"Port {port} cannot be used ({reason}). Another one: make run PORT=8001"
        ) from error
    server.close()
    await server.wait_closed()


async def get_status(port: int, path: str) -> int:
    """The status of one GET on this machine, 0 while nothing answers."""
    try:
        reader, writer = await asyncio.open_connection(HOST, port)
    except OSError:
        return 0
    request = f"GET {path} HTTP/1.1\r\nHost: {HOST}:{port}\r\nConnection: close\r\n\r\n"
    writer.write(request.encode("ascii"))
    try:
        line = await reader.readline()
    except OSError:
        return 0
    finally:
        writer.close()
    words = line.split()
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0


def worker_beats(since: datetime) -> bool:
    """Whether a sweep that started after `since` was seen."""
    from agent_runs.models import WorkerHeartbeat

    try:
        return WorkerHeartbeat.objects.filter(started_at__gte=since).exists()
    finally:
        connections.close_all()


async def become_ready(port: int, since: datetime) -> None:
    while not await asyncio.to_thread(worker_beats, since):
        await asyncio.sleep(_LOOK_EVERY)
    while await get_status(port, "/a2a/.well-known/agent-card.json") != 200:
        await asyncio.sleep(_LOOK_EVERY)


# --- Words ----------------------------------------------------------------------------


def curl_line(demo: Demo) -> str:
    """A blocking call; every paste is a new message, since repeats are not executed."""
    message = (
        '{"messageId":"\'"$(date +%s)"\'","role":"ROLE_USER",'
        f'"parts":[{{"text":"{SAMPLE}"}}]}}'
    )
    metadata = f'{{"{PROFILE_EXTENSION_URI}":"{demo.skill_ids[0]}"}}'
    return (
        f"curl -sS {demo.base_url} -H 'Authorization: Bearer {demo.token}' "
        "-H 'A2A-Version: 1.0' -H 'Content-Type: application/json' "
        '-d \'{"jsonrpc":"2.0","id":1,"method":"SendMessage",'
        f'"params":{{"message":{message},"metadata":{metadata}}}}}\''
    )


def banner(demo: Demo, folder: Path) -> str:
    password = demo.admin_password or "(as it was set in the admin)"
    return f"""
The gateway serves on this machine. Ctrl-C stops it.

  Admin       {demo.admin_url}
              {demo.admin_user} / {password}
  Agent card  {demo.card_url}
  Skills      {", ".join(demo.skill_ids)}
  Token       {demo.token}
  Kept in     {folder} (demo.json, database, web.log, worker.log)

Send a message and wait for the result:

{curl_line(demo)}

"""


# --- The whole ------------------------------------------------------------------------


async def serve(
    demo: Demo, folder: Path, port: int, environment: dict[str, str]
) -> int:
    """Run until a signal comes (0) or a process ends by itself (1)."""
    told, hurry = _listen_to_signals()
    since = await asyncio.to_thread(_now)
    started = [
        await children.start("web", launch.web(port, host=HOST), folder, environment),
        await children.start("worker", launch.sweep(), folder, environment),
    ]
    try:
        ready = become_ready(port, since)
        return await watch(started, told, ready, lambda: _tell(demo, folder))
    except TimeoutError:
        raise RunError(
            f"Not ready within {READY_SECONDS:.0f} s; see {folder}."
        ) from None
    finally:
        await children.stop(started, hurry)


async def watch(
    started: Sequence[children.Child],
    told: asyncio.Event,
    ready: Awaitable[None],
    announce: Callable[[], None],
) -> int:
    """Announce once `ready` is over; raise TimeoutError when that takes too long."""
    events = [told.wait, *(child.process.wait for child in started)]
    first = await children.first_of(
        *(event() for event in events), ready, seconds=READY_SECONDS
    )
    if first == len(events):
        announce()
        first = await children.first_of(*(event() for event in events))
    if first == 0:
        return 0
    child = started[first - 1]
    raise RunError(f"The {child.name} process ended by itself:\n{child.last_lines()}")


def _tell(demo: Demo, folder: Path) -> None:
    sys.stdout.write(banner(demo, folder))
    sys.stdout.flush()


def _now() -> datetime:
    from agent_runs import clock

    try:
        return clock.database_now()
    finally:
        connections.close_all()


def _listen_to_signals() -> tuple[asyncio.Event, asyncio.Event]:
    """Events: told to stop; told a second time, so hurry."""
    told, hurry = asyncio.Event(), asyncio.Event()

    def hear() -> None:
        (hurry if told.is_set() else told).set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, hear)
    return told, hurry


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError("a port is a number from 1 to 65535")
    return int(text)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m a2a_project.run")
    parser.add_argument("--port", type=_port, default=8000)
    parser.add_argument("--data-dir", type=Path, default=Path("var"))
    return parser.parse_args(arguments)


def run(port: int, folder: Path) -> int:
    asyncio.run(check_port(port))
    prepare_folder(folder)
    settings = settings_of(folder, port)
    environment = os.environ | settings
    sys.stdout.write("Starting …\n")
    sys.stdout.flush()
    # This process only prepares and watches; what it would log is not for the terminal.
    os.environ.update(settings, LOG_LEVEL="WARNING")
    return asyncio.run(serve(prepare_installation(), folder, port, environment))


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    try:
        return run(options.port, options.data_dir.resolve())
    except RunError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main())
