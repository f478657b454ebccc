"""Asked at the start of every segment: may this still be worked on (S73)?

An administrator may have taken something away since the message came. What was added
since does not count: a run uses what it was given, as far as it is still granted.

A trial is judged like a task, but for one thing: its skill need not be public (O2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypedDict

from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from a2a_server import skills
from a2a_server.models import ClientProfile, Task, Trial
from agent_runs.statements import Select, value

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from django.db.models import QuerySet
    from django_stubs_ext import WithAnnotations

    from agent_runs.models import AgentRun

    JudgedTask: TypeAlias = WithAnnotations[Task, "_Judgement"]
    JudgedTrial: TypeAlias = WithAnnotations[Trial, "_Judgement"]
    Judged: TypeAlias = JudgedTask | JudgedTrial


class _Judgement(TypedDict):
    is_granted: bool
    is_expired: bool | None


_WHAT_COUNTS: Final = (
    *("client__name", "client__is_enabled", "client__technical_user_id"),
    *("client__workspace_id", "profile__name", "profile__skill_id"),
    *("profile__is_public", "profile__tools", "profile__may_write"),
)


def _judged(model: type[Task | Trial]) -> QuerySet[Any]:
    grants = ClientProfile.objects.filter(
        client=OuterRef("client"), profile=OuterRef("profile")
    )
    rows = model._default_manager.filter(run_id=value(model, "run_id"))  # noqa: SLF001
    return (
        rows.select_related("client", "profile")
        .only(*_WHAT_COUNTS)
        .annotate(
            is_granted=Exists(grants), is_expired=Q(client__expires_at__lte=Now())
        )
    )


_TASK: Final[Select[JudgedTask]] = Select(lambda: _judged(Task))
_TRIAL: Final[Select[JudgedTrial]] = Select(lambda: _judged(Trial))


def segment_problem(run: AgentRun) -> str | None:
    """Why no segment of this run may start, for the log; None also for other runs."""
    task = _TASK.first(run_id=run.pk)
    if task is not None:
        return _problem(run, task) or _card_problem(task)
    trial = _TRIAL.first(run_id=run.pk)
    return None if trial is None else _problem(run, trial)


def _problem(run: AgentRun, judged: Judged) -> str | None:
    return _client_problem(run, judged) or _profile_problem(run, judged)


def _client_problem(run: AgentRun, judged: Judged) -> str | None:
    client = judged.client
    if not client.is_enabled:
        return f"The client «{client}» is not enabled any more."
    if judged.is_expired:
        return f"The client «{client}» has expired."
    if client.technical_user_id != run.owner_id:
        return f"The client «{client}» has another technical user now."
    if client.workspace_id != run.workspace_id:
        return f"The client «{client}» has another workspace now."
    return None


def _profile_problem(run: AgentRun, judged: Judged) -> str | None:
    client, profile = judged.client, judged.profile
    if not judged.is_granted:
        return f"The client «{client}» may not call «{profile}» any more."
    withdrawn = sorted(set(run.tools) - set(skills.granted_tools(profile)))
    if withdrawn:
        return f"The skill «{profile}» has lost the tools {', '.join(withdrawn)}."
    return None


def _card_problem(task: JudgedTask) -> str | None:
    if not task.profile.is_public:
        return f"The skill «{task.profile}» is not public any more."
    return None
