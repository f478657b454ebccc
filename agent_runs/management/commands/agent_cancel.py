"""`manage.py agent_cancel <run id>`: end a run that has not ended."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import Error as DatabaseError

from agent_runs import lifecycle
from agent_runs.management.command import ExitCommand, ExitError

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(ExitCommand):
    help = "Cancels a run. Exit code 1: there is no such run, or it has ended already."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", type=UUID, metavar="run-id")
        parser.add_argument("--json", action="store_true", help="print for machines")

    def handle(self, *args: Any, **options: Any) -> None:
        run_id: UUID = options["run"]
        try:
            canceled = lifecycle.cancel(run_id)
        except DatabaseError as error:
            raise ExitError("The database cannot be used.") from error
        if options["json"]:
            self.stdout.write(json.dumps({"run": str(run_id), "canceled": canceled}))
        if not canceled:
            raise ExitError(f"No run {run_id} that could be canceled.")
        if not options["json"]:
            self.stdout.write(f"Run {run_id} is canceled.")
