"""`manage.py agent_rotate_keys`: after a new key was put first, re-encrypt everything."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseError

from agent_runs import key_rotation
from agent_runs.management.command import ExitCommand, ExitError

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from agent_runs.key_rotation import Rotation


class Command(ExitCommand):
    help = (
        "Re-encrypts stored secrets and contents with the first of A2A_ENCRYPTION_KEYS. "
        "Can be interrupted and run again. Afterwards the older keys may be taken away."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print for machines")

    def handle(self, *args: Any, **options: Any) -> None:
        done: list[Rotation] = []
        try:
            for rotation in key_rotation.rotate_all():
                done.append(rotation)
                if not options["json"]:
                    self.stdout.write(_sentence(rotation))
        except DatabaseError as error:
            raise ExitError("The database cannot be used.") from error
        except ImproperlyConfigured as error:
            raise ExitError(str(error)) from error
        unreadable = sum(rotation.unreadable for rotation in done)
        if options["json"]:
            document = {"columns": [asdict(r) for r in done], "unreadable": unreadable}
            self.stdout.write(json.dumps(document))
        if unreadable:
            raise ExitError(
                f"{unreadable} values open with none of the keys. Put the missing key "
                "at the end of A2A_ENCRYPTION_KEYS and run this again."
            )


def _sentence(rotation: Rotation) -> str:
    sentence = f"{rotation.column}: {rotation.rotated} re-encrypted"
    sentence += f", {rotation.current} current"
    if rotation.changed_meanwhile:
        sentence += f", {rotation.changed_meanwhile} written meanwhile"
    if rotation.unreadable:
        sentence += f", {rotation.unreadable} do not open"
    return sentence + "."
