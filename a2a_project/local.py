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
import os
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

from a2a_project import environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

HOST = "127.0.0.1"
USUAL_PORT = 8000
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


# --- The folder -----------------------------------------------------------------------


def prepare_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise RunError(f"{folder} cannot be used: {error.strerror}.") from error


@contextlib.contextmanager
def locked(folder: Path, port: int) -> Iterator[None]:
    """One runner a folder: two would share a database and write into the same files."""
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
        file.write(f"process {os.getpid()} serves it on port {port}\n")
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


def settings_of(folder: Path, port: int) -> dict[str, str]:
    """What the processes are told; other settings of the environment stay as they are."""
    keys = kept_secret(folder / "encryption_keys", _encryption_key)
    secret_key = kept_secret(folder / "secret_key", lambda: secrets.token_urlsafe(50))
    return {
        **_with_newsroom(),
        "A2A_CLIENT_ENABLED": "on",
        "A2A_ENCRYPTION_KEYS": keys,
        "A2A_REDIS_URL": "",
        # What is printed and on the card comes first; people type the other.
        "A2A_SERVER_BASE_URLS": f"http://{HOST}:{port}/a2a http://localhost:{port}/a2a",
        "A2A_SERVER_ENABLED": "on",
        "DATABASE_URL": f"sqlite:///{folder / DATABASE}",
        "DATA_DIR": str(folder),
        "DEBUG": "off",
        "HTTPS": "off",
        "SECRET_KEY": secret_key,
    }


def _with_newsroom() -> dict[str, str]:
    """The demonstration's app and its records, beside what the environment names."""
    try:
        return {
            "EXTRA_APPS": _with_app(),
            **{name: _beside(name, models) for name, models in _MODELS.items()},
        }
    except ImproperlyConfigured as error:
        raise RunError(str(error)) from error


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


def options(module: str) -> argparse.ArgumentParser:
    """The options that `make run` and `make manage` share."""
    parser = argparse.ArgumentParser(prog=f"python -m a2a_project.{module}")
    parser.add_argument("--port", type=_port, default=USUAL_PORT)
    parser.add_argument("--data-dir", type=Path, default=Path("var"))
    return parser


# --- Commands -------------------------------------------------------------------------


def manage(folder: Path, port: int, command: Sequence[str]) -> None:
    """Run the command; it ends the process itself when it fails."""
    if not (folder / DATABASE).exists():
        raise RunError(f"There is no installation in {folder}; make run makes one.")
    os.environ.update(settings_of(folder, port))
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
        manage(given.data_dir.resolve(), given.port, given.command or ["help"])
    except RunError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
