"""Asked at the start of every segment: may this task still be worked on (S73)?

An administrator may have taken something away since the message came. What was added
since does not count: a run uses what it was given, as far as it is still granted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypedDict

from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from a2a_server import skills
from a2a_server.models import ClientProfile, Task
from agent_runs.statements import Select, value

if TYPE_CHECKING:
    from typing import TypeAlias

    from django.db.models import QuerySet
    from django_stubs_ext import WithAnnotations

    from agent_runs.models import AgentRun

    JudgedTask: TypeAlias = WithAnnotations[Task, "_Judgement"]


class _Judgement(TypedDict):
    is_granted: bool
    is_expired: bool | None


_WHAT_COUNTS: Final = (
    *("client__name", "client__is_enabled", "client__technical_user_id"),
    *("client__workspace_id", "profile__name", "profile__skill_id"),
    *("profile__is_public", "profile__tools", "profile__may_write"),
)


def _judged() -> QuerySet[JudgedTask]:
    grants = ClientProfile.objects.filter(
        client=OuterRef("client"), profile=OuterRef("profile")
    )
    tasks = Task.objects.filter(run_id=value(Task, "run_id"))
    return (
        tasks.select_related("client", "profile")
        .only(*_WHAT_COUNTS)
        .annotate(
            is_granted=Exists(grants), is_expired=Q(client__expires_at__lte=Now())
        )
    )


_JUDGED: Final = Select(_judged)


def segment_problem(run: AgentRun) -> str | None:
    """Why no segment of this run may start, for the log; None also for other runs."""
    task = _JUDGED.first(run_id=run.pk)
    if task is None:
        return None
    return _client_problem(run, task) or _profile_problem(run, task)


def _client_problem(run: AgentRun, task: JudgedTask) -> str | None:
    client = task.client
    if not client.is_enabled:
        return f"The client «{client}» is not enabled any more."
    if task.is_expired:
        return f"The client «{client}» has expired."
    if client.technical_user_id != run.owner_id:
        return f"The client «{client}» has another technical user now."
    if client.workspace_id != run.workspace_id:
        return f"The client «{client}» has another workspace now."
    return None


def _profile_problem(run: AgentRun, task: JudgedTask) -> str | None:
    client, profile = task.client, task.profile
    if not task.is_granted:
        return f"The client «{client}» may not call «{profile}» any more."
    if not profile.is_public:
        return f"The skill «{profile}» is not public any more."
    withdrawn = sorted(set(run.tools) - set(skills.granted_tools(profile)))
    if withdrawn:
        return f"The skill «{profile}» has lost the tools {', '.join(withdrawn)}."
    return None
