"""What a run waits for and who asked, in words for a page (T11, O2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import reverse

from agent_runs import registries, waiting
from agent_runs.admin.fields import NOTHING, opened
from agent_runs.cleaning import is_hidden
from agent_runs.contents import ContentsError
from agent_runs.registries import RunDescription
from agent_runs.waiting import ForPeople, OpenApproval

if TYPE_CHECKING:
    from collections.abc import Collection
    from uuid import UUID

    from agent_runs.models import AgentRun

UNREADABLE = "What it waits for is stored in a form that cannot be shown here."
# Of those that nobody sees: what every longer text has.
_USUAL = "\n\r\t"


def awaited(run: AgentRun) -> ForPeople | None:
    """What people are asked.

    None where it cannot be read: another release, or another key, wrote it.
    """
    try:
        found = waiting.load(opened(run, "waiting_for") or "")
    except (ContentsError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return found if isinstance(found, ForPeople) else None


def sentence(run: AgentRun) -> str:
    found = awaited(run)
    if found is None:
        return UNREADABLE
    if isinstance(found, OpenApproval):
        return f"Approval of {', '.join(tools_of(found))}"
    return f"Question: {found.question.text}"


def tools_of(approval: OpenApproval) -> list[str]:
    return list(dict.fromkeys(call.tool for call in approval.calls))


def card_url(run: AgentRun) -> str:
    return reverse("admin:agent_runs_waitingrun_change", args=[run.pk])


def described(runs: Collection[AgentRun]) -> dict[UUID, RunDescription]:
    """Who asked for each of them, and for which skill."""
    known = registries.described([run.pk for run in runs])
    return {run.pk: known.get(run.pk) or _started_by_hand(run) for run in runs}


def _started_by_hand(run: AgentRun) -> RunDescription:
    person = run.starter or run.owner
    name = person.get_username() if person else NOTHING
    return RunDescription(asker=name, skill=NOTHING)


def plainly(text: str) -> str:
    """The text with every character to be seen that would hide or turn others round.

    Whoever approves must see what the tool gets, and a model may write anything.
    """
    return "".join(map(_seen, text))


def _seen(letter: str) -> str:
    if letter in _USUAL or not is_hidden(letter):
        return letter
    code = ord(letter)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
