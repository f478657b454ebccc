"""`manage.py a2a_agent_refresh`: import the cards of known agents anew (C2).

What changed is stored and told. An interface that moved to another origin is not used
until somebody confirms it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a_client import agents, describing, importing
from a2a_client.fetching import CardError
from a2a_client.management.command import AgentCommand
from a2a_client.models import RemoteAgent
from agent_runs.management.command import ExitError

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(AgentCommand):
    help = (
        "Fetches and stores the cards of remote agents anew. Exit code 1: one failed, "
        "or has to be confirmed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("identifiers", nargs="*", default=[], help="of agents")
        which.add_argument("--all", action="store_true", help="every agent")
        super().add_arguments(parser)

    def perform(self, options: dict[str, Any]) -> None:
        chosen = _chosen(options)
        told = [_refresh(agent) for agent in chosen]
        if options["json"]:
            self.print_json(told)
        else:
            self.stdout.write("\n".join(map(_line, told)) or "There are no agents.")
        if any(one["problem"] for one in told):
            raise ExitError("Not every card could be brought up to date.")


def _chosen(options: dict[str, Any]) -> list[RemoteAgent]:
    if options["all"]:
        return list(RemoteAgent.objects.order_by("identifier"))
    return [agents.named(identifier) for identifier in options["identifiers"]]


def _refresh(agent: RemoteAgent) -> dict[str, Any]:
    """What became of one: differences, and a problem or an empty text."""
    told: dict[str, Any] = {"identifier": agent.identifier, "differences": []}
    try:
        seen = importing.preview(agent)
        importing.store(agent, seen)
    except (CardError, importing.Stale) as error:
        return {**told, "problem": str(error)}
    found = [*seen.differences, *seen.warnings]
    return {
        **told,
        "differences": [describing.line(text) for text in found],
        "problem": "" if agent.is_confirmed else describing.left_to_do(agent)[0],
    }


def _line(told: dict[str, Any]) -> str:
    found = [*told["differences"], *filter(None, [told["problem"]])]
    return f"{told['identifier']}: {' '.join(found) or 'as before.'}"
