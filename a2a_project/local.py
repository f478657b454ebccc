"""The installation of `make run`: its folder, and the settings its processes are told.

The folder holds everything: the secrets, the database and what the demonstration keeps.
`make manage ARGS="…"` runs this module, which gives a command of `manage.py` the settings
that `make run` gives its processes.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import fcntl
import ipaddress
import os
import secrets
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

from a2a_project import environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

USUAL_HOST = "127.0.0.1"
USUAL_PORT = 8000
USUAL_FOLDER = "var"
DATABASE = "a2a.sqlite3"
NEWSROOM = "a2a_project.newsroom"
# What tools may read and write of the demonstration.
_ARTICLE = {"newsroom.article": "title,section,text"}
_MODELS = {
    "AGENT_RUNS_READABLE_MODELS": {"newsroom.section": "name"} | _ARTICLE,
    "AGENT_RUNS_WRITABLE_MODELS": _ARTICLE,
}


class RunError(Exception):
    """It cannot go on; the sentence is for the person at the terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an installation is kept and served; `host` is an IPv4 loopback address.

    With `calls_loopback` its runs may call agents of this machine (E4), which takes DEBUG.
    """

    folder: Path
    host: str = USUAL_HOST
    port: int = USUAL_PORT
    calls_loopback: bool = False

    @property
    def is_usual_host(self) -> bool:
        return self.host == USUAL_HOST

    def given(self) -> list[str]:
        """What `make` is told of it: the options that are not the usual ones."""
        folder = Path(USUAL_FOLDER).resolve()
        told = {
            f"HOST={self.host}": not self.is_usual_host,
            f"PORT={self.port}": self.port != USUAL_PORT,
            f"DATA_DIR={self.folder}": self.folder != folder,
            "LOOPBACK_AGENTS=on": self.calls_loopback,
        }
        return [shlex.quote(option) for option, is_told in told.items() if is_told]


# --- The folder -----------------------------------------------------------------------


def prepare_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise RunError(f"{folder} cannot be used: {error.strerror}.") from error


@contextlib.contextmanager
def locked(place: Place) -> Iterator[None]:
    """One runner a folder: two would share a database and write into the same files."""
    folder = place.folder
    with (folder / "lock").open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise RunError(
                f"{folder} is in use: {file.read().strip()}. Another installation "
                "beside it: make run PORT=8001 DATA_DIR=/another/folder"
            ) from None
        file.truncate(0)
        file.write(f"process {os.getpid()} serves it on port {place.port}\n")
        file.flush()
        yield


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


# --- Settings -------------------------------------------------------------------------


def settings_of(place: Place) -> dict[str, str]:
    """What the processes are told; other settings of the environment stay as they are."""
    folder = place.folder
    try:
        added = _with_newsroom() | _with_host(place)
    except ImproperlyConfigured as error:
        raise RunError(str(error)) from error
    keys = kept_secret(folder / "encryption_keys", _encryption_key)
    secret_key = kept_secret(folder / "secret_key", lambda: secrets.token_urlsafe(50))
    return {
        **added,
        **_with_loopback(place),
        "A2A_CLIENT_ENABLED": "on",
        "A2A_ENCRYPTION_KEYS": keys,
        "A2A_REDIS_URL": "",
        "A2A_SERVER_ENABLED": "on",
        "DATABASE_URL": f"sqlite:///{folder / DATABASE}",
        "DATA_DIR": str(folder),
        "HTTPS": "off",
        "SECRET_KEY": secret_key,
    }


def _with_host(place: Place) -> dict[str, str]:
    base_url = f"http://{place.host}:{place.port}/a2a"
    if place.is_usual_host:
        # What is printed and on the card comes first; people type the other.
        return {"A2A_SERVER_BASE_URLS": f"{base_url} http://localhost:{place.port}/a2a"}
    # Every name here is a host of its own, which no run may call (E2): the usual address
    # is left to the installation beside it.
    named = environment.words("ALLOWED_HOSTS")
    hosts = " ".join([place.host, *(host for host in named if host != place.host)])
    return {"A2A_SERVER_BASE_URLS": base_url, "ALLOWED_HOSTS": hosts}


def _with_loopback(place: Place) -> dict[str, str]:
    if place.calls_loopback:
        return {"A2A_EGRESS_ALLOW_LOOPBACK": "on", "DEBUG": "on"}
    return {"DEBUG": "off"}


def _with_newsroom() -> dict[str, str]:
    """The demonstration's app and its records, beside what the environment names."""
    models = {name: _beside(name, fields) for name, fields in _MODELS.items()}
    return {"EXTRA_APPS": _with_app(), **models}


def _with_app() -> str:
    apps = environment.words("EXTRA_APPS")
    is_named = any(app == NEWSROOM or app.startswith(f"{NEWSROOM}.") for app in apps)
    return " ".join(apps if is_named else [NEWSROOM, *apps])


def _beside(name: str, fields_by_model: dict[str, str]) -> str:
    """A model that the environment names has the fields that it names there."""
    words = environment.text(name).split()
    named = {word.partition(":")[0].lower() for word in words}
    ours = (f"{m}:{f}" for m, f in fields_by_model.items() if m not in named)
    return " ".join([*ours, *words])


# --- Options --------------------------------------------------------------------------


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError("a port is a number from 1 to 65535")
    return int(text)


def _host(text: str) -> str:
    try:
        address = ipaddress.IPv4Address(text)
    except ValueError:
        address = None
    if address is None or not address.is_loopback:
        raise argparse.ArgumentTypeError(
            "a host is an address of this machine alone: 127.0.0.1, 127.0.0.2 or "
            "another one that begins with 127"
        )
    return str(address)


def _switch(text: str) -> bool:
    if text not in {"on", "off"}:
        raise argparse.ArgumentTypeError("it is on or off")
    return text == "on"


def options(module: str) -> argparse.ArgumentParser:
    """The options that `make run` and `make manage` share."""
    parser = argparse.ArgumentParser(prog=f"python -m a2a_project.{module}")
    parser.add_argument("--host", type=_host, default=USUAL_HOST)
    parser.add_argument("--port", type=_port, default=USUAL_PORT)
    parser.add_argument("--data-dir", type=Path, default=Path(USUAL_FOLDER))
    parser.add_argument("--loopback-agents", type=_switch, default=False)
    return parser


def place_of(given: argparse.Namespace) -> Place:
    return Place(
        folder=given.data_dir.resolve(),
        host=given.host,
        port=given.port,
        calls_loopback=given.loopback_agents,
    )


# --- Commands -------------------------------------------------------------------------


def manage(place: Place, command: Sequence[str]) -> None:
    """Run the command; it ends the process itself when it fails."""
    if not (place.folder / DATABASE).exists():
        raise RunError(
            f"There is no installation in {place.folder}; make run makes one."
        )
    os.environ.update(settings_of(place))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "a2a_project.settings")
    os.environ.setdefault("LOG_LEVEL", "WARNING")
    try:
        # That the address is plain http is right here, and no news with every command.
        settings.SILENCED_SYSTEM_CHECKS = ["a2a_server.W001"]
        execute_from_command_line(["manage.py", *command])
    except ImproperlyConfigured as error:
        raise RunError(str(error)) from error


def main(arguments: Sequence[str] | None = None) -> int:
    parser = options("local")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args(arguments)
    try:
        manage(place_of(given), given.command or ["help"])
    except RunError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
