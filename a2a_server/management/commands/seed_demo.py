"""`manage.py seed_demo [--json]`: records to try the installation with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a_server import demo
from agent_runs.management.command import ExitCommand, ExitError

if TYPE_CHECKING:
    from django.core.management.base import CommandParser


class Command(ExitCommand):
    help = (
        "Makes an offline model provider, skills, a client with a token and an "
        "admin account, leaves alone what is there, and prints how to reach them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--json", action="store_true", help="Print the content of demo.json."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            made = demo.seed()
        except OSError as error:
            raise ExitError(f"{demo.file()} cannot be written.") from error
        self.stdout.write(made.as_json() if options["json"] else _sentences(made))


def _sentences(made: demo.Demo) -> str:
    lines = {
        "Agent card": made.card_url or "none: A2A_SERVER_BASE_URLS is empty",
        "Skills": ", ".join(made.skill_ids),
        "Client": demo.CLIENT,
        "Token": made.token,
        "Admin": made.admin_url or "/admin/",
        "Account": made.admin_user,
        "Password": made.admin_password or "as it was set in the admin",
        "Kept in": str(demo.file()),
    }
    return "\n".join(f"{label + ':':<12}{text}" for label, text in lines.items())
