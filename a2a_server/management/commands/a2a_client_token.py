"""Issue a client's token, or take it away (S20).

The token is the only thing on standard output, so that it can be piped to where it is
kept. It is shown once; the record keeps a hash.
"""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from a2a_server import auth
from a2a_server.models import Client
from agent_runs.clock import database_now

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    help = "Issue a new token for an A2A client; the one it had is dead at once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("client", help="Id or name of the client.")
        parser.add_argument(
            "--revoke", action="store_true", help="Leave it without a token instead."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        client = _find_client(options["client"])
        by = _operator()
        if options["revoke"]:
            auth.revoke_token(client, by=by)
            self.stderr.write(f"The client «{client}» has no token any more.")
            return
        self.stdout.write(auth.issue_token(client, now=database_now(), by=by))


def _find_client(text: str) -> Client:
    # A name is never all digits, so one text cannot mean two clients.
    is_id = text.isascii() and text.isdigit() and len(text) <= 18
    lookup: dict[str, Any] = {"id": int(text)} if is_id else {"name": text}
    client = Client.objects.filter(**lookup).first()
    if client is None:
        raise CommandError(f"There is no client «{text}».")
    return client


def _operator() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
