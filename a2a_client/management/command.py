"""What the commands for remote agents share."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.db import Error as DatabaseError

from a2a_client import conf
from agent_runs.management.command import ExitCommand, ExitError
from agent_runs.registries import NothingNamed

if TYPE_CHECKING:
    from argparse import ArgumentParser


class AgentCommand(ExitCommand):
    """Says in a sentence that the role is off or the database cannot be used."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--json", action="store_true", help="print for machines, on one line"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not conf.is_enabled():
            raise ExitError(conf.ROLE_IS_OFF)
        try:
            self.perform(options)
        except NothingNamed as error:
            raise ExitError(str(error)) from error
        except DatabaseError as error:
            raise ExitError("The database cannot be used.") from error

    def perform(self, options: dict[str, Any]) -> None:
        raise NotImplementedError

    def print_json(self, document: object) -> None:
        self.stdout.write(json.dumps(document, ensure_ascii=False))
