"""`manage.py agent_purge`: delete ended runs now instead of at the daily job's time."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.db import Error as DatabaseError
from django.db.models import Q

from agent_runs import registries, retention
from agent_runs.management.command import ExitCommand, ExitError, bounded
from agent_runs.registries import NothingNamed
from agent_runs.retention import Purge

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(ExitCommand):
    help = "Deletes ended runs with their events, tasks, messages and results. Drafts stay."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--days",
            type=bounded(int, 0, 36_500),
            help="only what ended at least so many days ago "
            "(default: AGENT_RUNS_RETENTION_DAYS)",
        )
        parser.add_argument("--client", default="", help="only this client's, by name")
        parser.add_argument(
            "--dry-run", action="store_true", help="count, but delete nothing"
        )
        parser.add_argument("--json", action="store_true", help="print for machines")

    def handle(self, *args: Any, **options: Any) -> None:
        days = options["days"]
        older_than = retention.retention() if days is None else timedelta(days=days)
        try:
            wanted = Purge(
                older_than=older_than,
                only=_runs_of_client(options["client"]),
                dry_run=options["dry_run"],
            )
            counts = retention.purge(wanted)
        except NothingNamed as error:
            raise ExitError(str(error)) from error
        except DatabaseError as error:
            raise ExitError("The database cannot be used.") from error
        self._print(counts, options)

    def _print(self, counts: dict[str, int], options: dict[str, Any]) -> None:
        if options["json"]:
            document = {"dry_run": options["dry_run"], "deleted": counts}
            self.stdout.write(json.dumps(document))
            return
        verb = "Would delete" if options["dry_run"] else "Deleted"
        listed = ", ".join(f"{count} {name}" for name, count in counts.items())
        self.stdout.write(f"{verb} {listed}.")


def _runs_of_client(name: str) -> Q:
    if not name:
        return Q()
    run_filter = registries.run_filters.get("client")
    if run_filter is None:
        raise NothingNamed("This installation has no clients.")
    return run_filter(name)
