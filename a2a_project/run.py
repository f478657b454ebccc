"""`make run`: a serving gateway on this machine, for trying out and for development.

Makes the database and the demonstration in the folder, starts a web process and the
embedded worker, says how to reach them once both work, and stops both when it is told to
stop or when one of them ends. It listens on the loopback address only.
"""

from __future__ import annotations

import asyncio
import errno
import io
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import django
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import DatabaseError, connections

from a2a_project import children, launch, local
from a2a_project.newsroom import drafting
from a2a_protocol.cards import PROFILE_EXTENSION_URI

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from datetime import datetime

    from a2a_project.local import Place
    from a2a_server.demo import Demo

# Without quotation marks, since it stands in a line for the shell.
SAMPLE = (
    "The team met on Monday. The release moves to May, because the import is not ready. "
    "The import is rewritten until then, and the release notes say so. Somebody brought "
    "cake. Lena writes the release notes."
)
# It names no section, so that the run asks for one.
ARTICLE = (
    "The bridge is open\\nThe new bridge over the river was opened on Monday. It carries "
    "a tram line, two lanes for bicycles and no cars."
)
READY_SECONDS = 90.0
_LOOK_EVERY = 0.1


# --- The installation -----------------------------------------------------------------


def prepare_installation() -> Demo:
    """Migrate and seed; Django is set up in this process for it."""
    try:
        django.setup()
    except ImproperlyConfigured as error:
        raise local.RunError(str(error)) from error
    from a2a_server import demo

    try:
        Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)
        call_command("check", stdout=io.StringIO(), stderr=io.StringIO())
        call_command("migrate", verbosity=0)
        return demo.seed()
    except SystemCheckError as error:
        raise local.RunError(str(error)) from error
    except OSError as error:
        raise local.RunError(f"A file cannot be written: {error}") from error
    except DatabaseError as error:
        raise local.RunError(f"The database cannot be used: {error}") from error
    finally:
        connections.close_all()


# --- Readiness ------------------------------------------------------------------------


async def check_port(place: Place) -> None:
    host, port = place.host, place.port
    try:
        server = await asyncio.start_server(lambda *_: None, host, port)
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            raise local.RunError(
                f"This machine has no address {host} yet. On macOS and BSD this adds it: "
                f"sudo ifconfig lo0 alias {host}"
            ) from error
        reason = os.strerror(error.errno) if error.errno else "it cannot be opened"
        raise local.RunError(
            f"Port {port} cannot be used ({reason}). Another one: make run PORT=8001"
        ) from error
    server.close()
    await server.wait_closed()


async def get_status(place: Place, path: str) -> int:
    """The status of one GET on this machine, 0 while nothing answers."""
    try:
        reader, writer = await asyncio.open_connection(place.host, place.port)
    except OSError:
        return 0
    host = f"{place.host}:{place.port}"
    request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
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


async def become_ready(place: Place, since: datetime) -> None:
    while not await asyncio.to_thread(worker_beats, since):
        await asyncio.sleep(_LOOK_EVERY)
    while await get_status(place, "/a2a/.well-known/agent-card.json") != 200:
        await asyncio.sleep(_LOOK_EVERY)


# --- Words ----------------------------------------------------------------------------


def curl_line(demo: Demo, skill_id: str, text: str) -> str:
    """A blocking call; every paste is a new message, since repeats are not executed."""
    message = (
        f'{{"messageId":"{skill_id}-\'"$(date +%s)"\'","role":"ROLE_USER",'
        f'"parts":[{{"text":"{text}"}}]}}'
    )
    metadata = f'{{"{PROFILE_EXTENSION_URI}":"{skill_id}"}}'
    return (
        f"curl -sS {demo.base_url} -H 'Authorization: Bearer {demo.token}' "
        "-H 'A2A-Version: 1.0' -H 'Content-Type: application/json' "
        '-d \'{"jsonrpc":"2.0","id":1,"method":"SendMessage",'
        f'"params":{{"message":{message},"metadata":{metadata}}}}}\''
    )


_REPLACED = """
              The demo client's token was changed meanwhile; a new one was issued."""


_CALLS_LOOPBACK = """
  Mind        LOOPBACK_AGENTS: runs may call agents at addresses such as
              http://127.0.0.2:8001, and error pages show source and data (DEBUG)."""


def manage_line(command: str, place: Place) -> str:
    """With the options that are not the usual ones."""
    return " ".join(["make manage", *place.given(), f'ARGS="{command}"'])


def banner(demo: Demo, place: Place) -> str:
    password = demo.admin_password or "(as it was set in the admin)"
    return f"""
The gateway serves on this machine. Ctrl-C stops it.

  Admin       {demo.admin_url}
              {demo.admin_user} / {password}
  Agent card  {demo.card_url}
  Skills      {", ".join(demo.skill_ids)}
  Token       {demo.token}{_REPLACED if demo.is_token_replaced else ""}
  Kept in     {place.folder} (demo.json, database, web.log, worker.log)\
{_CALLS_LOOPBACK if place.calls_loopback else ""}

Make a client of your own in the admin; this issues its token:

{manage_line("a2a_client_token NAME", place)}

Send a message and wait for the result:

{curl_line(demo, demo.skill_ids[0], SAMPLE)}
{_article_lines(demo)}
"""


def _article_lines(demo: Demo) -> str:
    if drafting.NAME not in demo.skill_ids:
        return ""
    return f"""
Have an article drafted. It asks for the section, and then for your approval: see Inbox
in the admin.

{curl_line(demo, drafting.NAME, ARTICLE)}
"""


# --- The whole ------------------------------------------------------------------------


async def serve(demo: Demo, place: Place, environment: dict[str, str]) -> int:
    """Run until a signal comes (0) or a process ends by itself (1)."""
    folder = place.folder
    told, hurry = listen_to_signals()
    since = await asyncio.to_thread(_now)
    started = [
        await children.start(
            "web", launch.web(place.port, host=place.host), folder, environment
        ),
        await children.start("worker", launch.sweep(), folder, environment),
    ]
    try:
        ready = become_ready(place, since)
        return await watch(started, told, ready, lambda: _tell(demo, place))
    except TimeoutError:
        raise local.RunError(
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
    raise local.RunError(
        f"The {child.name} process ended by itself:\n{child.last_lines()}"
    )


def _tell(demo: Demo, place: Place) -> None:
    sys.stdout.write(banner(demo, place))
    sys.stdout.flush()


def _now() -> datetime:
    from agent_runs import clock

    try:
        return clock.database_now()
    finally:
        connections.close_all()


def listen_to_signals() -> tuple[asyncio.Event, asyncio.Event]:
    """Events: told to stop; told so again by Ctrl-C, so hurry.

    Other signals come twice without meaning more: `make` passes on the SIGTERM that the
    whole process group had.
    """
    told, hurry = asyncio.Event(), asyncio.Event()

    def hear(number: int) -> None:
        is_urgent = told.is_set() and number == signal.SIGINT
        (hurry if is_urgent else told).set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, hear, number)
    return told, hurry


def run(place: Place) -> int:
    local.prepare_folder(place.folder)
    with local.locked(place):
        asyncio.run(check_port(place))
        told = local.settings_of(place)
        environment = os.environ | told
        sys.stdout.write("Starting …\n")
        sys.stdout.flush()
        # This process only prepares and watches; what it would log is not for the
        # terminal.
        os.environ.update(told, LOG_LEVEL="WARNING")
        return asyncio.run(serve(prepare_installation(), place, environment))


def main(arguments: Sequence[str] | None = None) -> int:
    options = local.options("run").parse_args(arguments)
    try:
        return run(local.place_of(options))
    except local.RunError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main())
