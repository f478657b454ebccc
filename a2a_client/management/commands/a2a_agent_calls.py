"""`manage.py a2a_agent_calls`: what was handed to remote agents, and what became of it.

Nothing of what was sent or answered is shown; the admin does, to whoever may see it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from a2a_client import agents, ledger, looking_up, words
from a2a_client.management.command import AgentCommand
from a2a_client.models import CallState, RemoteCall
from agent_runs.management.command import ExitError, bounded

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from datetime import datetime

_USUAL = 50
_MOST = 1000
_LONGEST = 200


class Command(AgentCommand):
    help = (
        "Lists calls of remote agents, the newest first, asks the agent what became of "
        "one, or gives one up. Exit code 1: there is no such call, or nothing to give up."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("identifier", nargs="?", default="", help="of an agent")
        parser.add_argument("--state", choices=CallState.values, default="")
        parser.add_argument(
            "--limit",
            type=bounded(int, 1, _MOST),
            default=_USUAL,
            help=f"how many are listed ({_USUAL})",
        )
        parser.add_argument(
            "--look-up",
            type=UUID,
            metavar="CALL-ID",
            help="ask the agent about this call; the message is not sent again",
        )
        parser.add_argument(
            "--cancel",
            type=UUID,
            metavar="CALL-ID",
            help="give up this call, which no run waits for; the agent is told",
        )
        super().add_arguments(parser)

    def perform(self, options: dict[str, Any]) -> None:
        if options["look_up"]:
            self._look_up(options["look_up"], as_json=options["json"])
            return
        if options["cancel"]:
            self._cancel(options["cancel"], as_json=options["json"])
            return
        calls = _calls(options)
        if options["json"]:
            self.print_json([_document(call) for call in calls])
        else:
            self.stdout.write("\n".join(map(_line, calls)) or "There are no calls.")

    def _look_up(self, call_id: UUID, *, as_json: bool) -> None:
        call = _named(call_id)
        found = looking_up.look_up(call)
        if as_json:
            self.print_json({"id": str(call.pk), "found": found})
        else:
            self.stdout.write(found)

    def _cancel(self, call_id: UUID, *, as_json: bool) -> None:
        call = _named(call_id)
        if call.run_id is not None:
            raise ExitError(
                f"A run waits for it: manage.py agent_cancel {call.run_id} ends both."
            )
        while not ledger.abandon(call):
            call = _named(call_id)
            if not CallState(call.state).is_active:
                raise ExitError("It has ended already.")
        if as_json:
            self.print_json(_document(call))
        else:
            told = "The agent is told" if call.remote_task_id else "It has no task yet"
            self.stdout.write(f"Given up. {told}.")


def _named(call_id: UUID) -> RemoteCall:
    call = RemoteCall.objects.select_related("agent").filter(pk=call_id).first()
    if call is None:
        raise ExitError(f"There is no call {call_id}.")
    return call


def _calls(options: dict[str, Any]) -> list[RemoteCall]:
    calls = RemoteCall.objects.select_related("agent").order_by("-created_at", "-id")
    if options["identifier"]:
        calls = calls.filter(agent=agents.named(options["identifier"]))
    if options["state"]:
        calls = calls.filter(state=options["state"])
    return list(calls[: int(options["limit"])])


def _document(call: RemoteCall) -> dict[str, Any]:
    """Times in ISO 8601, UTC; null: not yet."""
    return {
        "id": str(call.pk),
        "agent": call.agent.identifier,
        "host": call.host,
        "skill": call.skill,
        "state": call.state,
        "code": call.code,
        "sentence": call.sentence,
        "run": str(call.run_id) if call.run_id else None,
        "taskId": call.remote_task_id,
        "contextId": call.context_id,
        "polls": call.polls,
        "createdAt": _moment(call.created_at),
        "stateChangedAt": _moment(call.state_changed_at),
        "endedAt": _moment(call.ended_at),
        "deadlineAt": _moment(call.deadline_at),
        "found": call.found,
    }


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="milliseconds")


def _line(call: RemoteCall) -> str:
    facts = [
        str(call.pk),
        f"{call.created_at:%Y-%m-%d %H:%M:%S}",
        call.agent.identifier,
        call.state,
    ]
    if call.remote_task_id:
        facts.append(f"task {words.one_line(call.remote_task_id, _LONGEST)}")
    if call.sentence:
        facts.append(words.one_line(call.sentence, _LONGEST))
    return "  ".join(facts)
