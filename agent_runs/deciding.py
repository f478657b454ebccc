"""What people and clients say to a waiting run: answers and verdicts (T8–T13, R20).

Everything is judged before anything is stored, and stored by one compare-and-set that
also asks whether the run still waits for what was answered. Of two that answer at the
same moment one wins, and the other is told that nothing is waiting.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import Q

from agent_runs import clock, lifecycle, questions, redaction, waiting
from agent_runs.events import NewEvent
from agent_runs.models import AgentRun, RunState
from agent_runs.models.run import EventKind
from agent_runs.questions import Answer
from agent_runs.store import STORE_AWAY
from agent_runs.tools import gate, grants
from agent_runs.tools.contract import ToolError
from agent_runs.transcript import Decisions
from agent_runs.waiting import OpenApproval, OpenQuestion

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from django.contrib.auth.models import AbstractBaseUser
    from pydantic import BaseModel

    from agent_runs.contents import JSONValue
    from agent_runs.tools.contract import Tool
    from agent_runs.waiting import ShownCall, Waiting

logger = logging.getLogger(__name__)

PERMISSION = "agent_runs.decide_run"


class NotWaiting(Exception):  # noqa: N818 -- an answer, not a failure
    """Nothing is waiting for this: it never did, or somebody was faster."""


class SomethingElse(NotWaiting):
    """The run waits, but for something else than what was answered."""


class NotAllowed(Exception):  # noqa: N818 -- an answer, not a failure
    """This person may not decide that; the sentence says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Teller:
    """Who says it, for the run's history."""

    name: str
    user_id: Any = None


def of_user(user: AbstractBaseUser) -> Teller:
    return Teller(name=user.get_username(), user_id=user.pk)


# --- Reading --------------------------------------------------------------------------


def waiting_run(run_id: UUID) -> tuple[AgentRun, Waiting]:
    """The run with what it waits for, or `NotWaiting`."""
    related = "configuration__provider", "owner", "workspace"
    run = AgentRun.objects.select_related(*related).filter(id=run_id).first()
    if run is None or not run.waiting_id or run.waiting_for is None:
        raise NotWaiting
    return run, waiting.load(run.waiting_for)


def open_question(run_id: UUID, question_id: str = "") -> tuple[AgentRun, OpenQuestion]:
    """The question that a run waits with; another one than that named is refused (T9)."""
    run, found = waiting_run(run_id)
    if not isinstance(found, OpenQuestion):
        raise NotWaiting
    if question_id and question_id != found.id:
        raise SomethingElse
    return run, found


# --- Answers --------------------------------------------------------------------------


def answer(
    run_id: UUID,
    given: str | Mapping[str, JSONValue],
    *,
    by: Teller,
    question_id: str = "",
    message_id: str = "",
) -> None:
    """Hand the run its answer.

    Raises `BadAnswer`, `SomethingElse` or `NotWaiting`, and nothing is stored then.
    """
    run, asked = open_question(run_id, question_id)
    value = questions.parse(asked.question, given)
    accepted = Answer(value=value, message_id=message_id)
    event = NewEvent(
        kind=EventKind.ANSWER,
        round=run.rounds,
        facts={
            "by": by.name,
            "by_id": str(by.user_id or ""),
            "tool": asked.tool,
            "length": len(accepted.text),
        },
        content=redaction.event_content(run.current_level, accepted.text),
    )
    decisions = Decisions(answers={asked.key: accepted})
    _resume(run, RunState.WAITING_FOR_INPUT, asked, decisions, event)


def answer_as(
    user: AbstractBaseUser,
    run_id: UUID,
    given: str | Mapping[str, JSONValue],
    *,
    question_id: str,
) -> None:
    """The same for a person, who must be allowed to: raises `NotAllowed` (R20, S74)."""
    run, _ = open_question(run_id, question_id)
    if problem := person_problem(run, user):
        raise NotAllowed(problem)
    answer(run_id, given, by=of_user(user), question_id=question_id)


# --- Verdicts -------------------------------------------------------------------------


def decide(
    run_id: UUID, approval_id: str, *, approve: bool, user: AbstractBaseUser
) -> None:
    """Approve or deny the whole turn that was shown under this id (T12).

    Raises `NotAllowed`, `SomethingElse` or `NotWaiting`, and nothing is stored then.
    """
    run, shown = waiting_run(run_id)
    if not isinstance(shown, OpenApproval):
        raise NotWaiting
    if shown.id != approval_id:
        raise SomethingElse
    problem = (
        approval_problem(run, shown, user) if approve else person_problem(run, user)
    )
    if problem:
        raise NotAllowed(problem)
    event = NewEvent(
        kind=EventKind.APPROVAL,
        round=run.rounds,
        facts={
            "approved": approve,
            "by": user.get_username(),
            "by_id": str(user.pk),
            "tools": [call.tool for call in shown.calls],
        },
    )
    decisions = Decisions(is_approved=approve, approval_id=shown.id)
    _resume(run, RunState.WAITING_FOR_APPROVAL, shown, decisions, event)


def person_problem(run: AgentRun, user: AbstractBaseUser) -> str | None:
    """Why this person may decide nothing about the run (R20)."""
    may_decide = user.has_perm(PERMISSION)  # type: ignore[attr-defined]
    if may_decide or run.starter_or_owner_id == user.pk:
        return None
    return "You may decide only about runs that you started yourself."


def decidable_by(user: AbstractBaseUser) -> Q:
    """The runs about which `person_problem` has nothing to say."""
    if user.has_perm(PERMISSION):  # type: ignore[attr-defined]
        return Q()
    return Q(starter=user.pk) | Q(starter=None, owner=user.pk)


def approval_problem(
    run: AgentRun, shown: OpenApproval, user: AbstractBaseUser
) -> str | None:
    """Why this person may not approve, though perhaps deny (T12)."""
    if problem := person_problem(run, user):
        return problem
    has_four_eyes = run.configuration is not None and run.configuration.four_eyes
    if has_four_eyes and run.starter_or_owner_id == user.pk:
        return "Four eyes: whoever started the run may deny, but not approve."
    known = grants.managed()
    problems = (_call_problem(known, call, user) for call in shown.calls)
    return next(filter(None, problems), None)


def _call_problem(
    known: Mapping[str, grants.ManagedTool], call: ShownCall, user: AbstractBaseUser
) -> str | None:
    managed = known.get(call.tool)
    if managed is None:
        return f"The tool {call.tool} is not installed any more."
    tool = managed.tool
    if not tool.effect.is_write:
        return None
    if tool.permission and not user.has_perm(tool.permission):  # type: ignore[attr-defined]
        return f"You lack the permission {tool.permission}, which {tool.name} needs."
    if not _is_admitted(tool, user):
        return f"You are in none of the groups that may use {tool.name}."
    try:
        arguments = gate.parse_text(call.arguments, tool)
    except ToolError:
        return f"The tool {tool.name} does not take these arguments any more."
    return _own_problem(tool, arguments, user)


def _is_admitted(tool: Tool, user: AbstractBaseUser) -> bool:
    if tool.admits is None or user.is_superuser:  # type: ignore[attr-defined]
        return True
    return user.pk in tool.admits([user.pk])


def _own_problem(
    tool: Tool, arguments: BaseModel, user: AbstractBaseUser
) -> str | None:
    """A tool that fails here does not keep anybody from denying."""
    try:
        if tool.may_run is None or tool.may_run(user, arguments):
            return None
    except STORE_AWAY:
        raise
    except Exception:
        logger.exception("may_run failed", extra={"tool": tool.name})
        return f"The tool {tool.name} could not say whether you may do this yourself."
    return f"You may not do yourself what {tool.name} would do here."


def _resume(
    run: AgentRun,
    expected: RunState,
    told: Waiting,
    decisions: Decisions,
    event: NewEvent,
) -> None:
    won = lifecycle.resume(
        run.id,
        expected,
        waiting_id=told.id,
        pending=decisions.dump(),
        now=clock.database_now(),
        event=event,
    )
    if not won:
        raise NotWaiting
