"""`manage.py a2a_agent_import IDENTIFIER`: look at a remote agent's card and store it (C2).

With `--card-url` the agent is made when its identifier is new; it is off until somebody
enables it. Nothing is stored before the card was shown and agreed to.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db import transaction

from a2a_client import agents, describing, importing, words
from a2a_client.fetching import CardError
from a2a_client.management.command import AgentCommand
from a2a_client.models import RemoteAgent
from agent_runs.management.command import ExitError

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from a2a_client.importing import Preview

_BAD_OPTIONS = 2
_LONGEST_NAME = 100


class Command(AgentCommand):
    help = (
        "Fetches a remote agent's card, shows what it says and stores it. Exit code 1: "
        "there is no card to use, or it was not agreed to."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("identifier", help="of the agent")
        parser.add_argument("--card-url", default="", help="makes a new agent of it")
        parser.add_argument("--name", default="", help="of a new agent (the card's)")
        parser.add_argument(
            "--confirm-origin",
            default="",
            metavar="ORIGIN",
            help="let its interface be at this origin, such as https://host",
        )
        parser.add_argument("--yes", action="store_true", help="store without asking")
        super().add_arguments(parser)

    def perform(self, options: dict[str, Any]) -> None:
        agent = _agent(options)
        try:
            seen = importing.preview(agent)
            _require_origin(seen, options["confirm_origin"])
            if not options["json"]:
                self.stdout.write("\n".join(describing.card_lines(seen)))
            if not options["yes"]:
                self._ask()
            _store(agent, seen, options)
        except (CardError, importing.Stale) as error:
            raise ExitError(str(error)) from error
        self._tell(agent, seen, as_json=options["json"])

    def _ask(self) -> None:
        if not sys.stdin.isatty():
            raise ExitError("Nothing was stored. Add --yes to store it.")
        self.stderr.write("Store it? [y/N] ", ending="")
        if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
            raise ExitError("Nothing was stored.")

    def _tell(self, agent: RemoteAgent, seen: Preview, *, as_json: bool) -> None:
        left = describing.left_to_do(agent, security=seen.security)
        if as_json:
            document = {
                "identifier": agent.identifier,
                "confirmed": agent.is_confirmed,
                "enabled": agent.is_enabled,
                "leftToDo": left,
                "card": describing.card_document(seen),
            }
            self.print_json(document)
            return
        self.stdout.write(f"Stored for «{agent.identifier}».")
        self.stdout.write("\n".join(f"- {sentence}" for sentence in left))


def _agent(options: dict[str, Any]) -> RemoteAgent:
    """The agent of that identifier, or a new one that is not saved yet."""
    identifier, url, name = (options[n] for n in ("identifier", "card_url", "name"))
    is_known = RemoteAgent.objects.filter(identifier=identifier).exists()
    if not is_known and url:
        return _new(identifier, url, name)
    agent = agents.named(identifier)
    if (url and url != agent.card_url) or (name and name != agent.name):
        raise ExitError(
            f"There is an agent «{identifier}» already; --card-url and --name are for a "
            "new one. Change it in the admin.",
            code=_BAD_OPTIONS,
        )
    return agent


def _new(identifier: str, url: str, name: str) -> RemoteAgent:
    agent = RemoteAgent(identifier=identifier, name=name or identifier, card_url=url)
    try:
        agent.full_clean()
    except ValidationError as error:
        raise ExitError(" ".join(error.messages), code=_BAD_OPTIONS) from error
    return agent


def _require_origin(seen: Preview, origin: str) -> None:
    if origin and origin != seen.origin:
        raise ExitError(
            f"Its interface is at {seen.origin}, not at {words.one_line(origin, 300)}. "
            "Nothing was stored."
        )


def _store(agent: RemoteAgent, seen: Preview, options: dict[str, Any]) -> None:
    """All of it or nothing."""
    with transaction.atomic():
        if agent.pk is None:
            said = words.one_line(seen.card.name, _LONGEST_NAME)
            agent.name = options["name"] or said or agent.identifier
            agent.save()
        importing.store(agent, seen)
        if options["confirm_origin"]:
            importing.confirm_origin(agent, options["confirm_origin"])
