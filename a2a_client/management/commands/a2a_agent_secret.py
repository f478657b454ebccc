"""`manage.py a2a_agent_secret IDENTIFIER`: enter the secret of an agent's credential.

It is read from a prompt or from standard input, never from the command line, which other
users of the machine can see and shells remember.
"""

from __future__ import annotations

import getpass
import sys
from typing import TYPE_CHECKING, Any

from a2a_client import agents, rules
from a2a_client.management.command import AgentCommand
from agent_runs.management.command import ExitError

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from a2a_client.models import RemoteAgent

_LONGEST = 8192


class Command(AgentCommand):
    help = (
        "Stores the secret that a remote agent's credential needs; it is never shown."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("identifier", help="of the agent")
        super().add_arguments(parser)

    def perform(self, options: dict[str, Any]) -> None:
        agent = agents.named(options["identifier"])
        secret = _read(agent)
        if problem := rules.secret_problem(agent.credential_kind, secret):
            raise ExitError(problem)
        agent.enter_secret(secret)
        agent.save(update_fields=["credential_secret"])
        if options["json"]:
            self.print_json({"identifier": agent.identifier, "stored": True})
        else:
            self.stderr.write(f"The secret of «{agent.identifier}» is stored.")


def _read(agent: RemoteAgent) -> str:
    if sys.stdin.isatty():
        return getpass.getpass(f"{agent.get_credential_kind_display()}: ")
    text = sys.stdin.read(_LONGEST + 1)
    if len(text) > _LONGEST:
        raise ExitError(f"The secret is longer than {_LONGEST} characters.")
    return text.removesuffix("\n").removesuffix("\r")
