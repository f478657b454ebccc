"""A claimed run and its segment, for tests that do a worker's work by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_runs import clock, lifecycle
from agent_runs.models import AgentRun
from agent_runs.segment import Segment
from tests import factories

if TYPE_CHECKING:
    from django.contrib.auth.models import User


def make_segment(**values: Any) -> Segment:
    """A segment of a new run; keywords are the run's columns."""
    return claim(factories.make_run(**values))


def claim(run: AgentRun, owner: str = "me") -> Segment:
    """The next segment of a queued run, as another process would begin it."""
    lease = lifecycle.claim(run.id, owner=owner, now=clock.database_now())
    assert lease
    related = "owner", "configuration__provider"
    return Segment(AgentRun.objects.select_related(*related).get(id=run.id), lease)


def make_owner(*permissions: str) -> User:
    return factories.make_user(permissions=permissions)
