"""Issue a client's token, or take it away (S20).

The token is the only thing on standard output, so that it can be piped to where it is
kept. It is shown once; the record keeps a hash.
"""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Any

from django.db import Error as DatabaseError

from a2a_server import auth, clients
from agent_runs.clock import database_now
from agent_runs.management.command import ExitCommand, ExitError
from agent_runs.registries import NothingNamed

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(ExitCommand):
    help = "Issue a new token for an A2A client; the one it had is dead at once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("client", help="Id or name of the client.")
        parser.add_argument(
            "--revoke", action="store_true", help="Leave it without a token instead."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._handle(options["client"], is_revoked=options["revoke"])
        except NothingNamed as error:
            raise ExitError(str(error)) from error
        except DatabaseError as error:
            raise ExitError("The database cannot be used.") from error

    def _handle(self, name: str, *, is_revoked: bool) -> None:
        client = clients.named(name)
        by = _operator()
        if is_revoked:
            auth.revoke_token(client, by=by)
            self.stderr.write(f"The client «{client}» has no token any more.")
            return
        self.stdout.write(auth.issue_token(client, now=database_now(), by=by))


def _operator() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
