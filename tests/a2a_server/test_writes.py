from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from a2a_server.models import Profile
from agent_runs import clock, lifecycle
from agent_runs.contents import Result, text_output
from agent_runs.events import NewEvent
from agent_runs.models import AgentRun, EndReason
from agent_runs.models.run import EventKind
from tests import factories
from tests.a2a_server.calling import ask, claim, complete, read_task, send

if TYPE_CHECKING:
    from a2a_server.models import Client
    from agent_runs.lifecycle import Lease

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("worker")]

NOTHING: dict[str, Any] = {
    "artifactId": "writes",
    "name": "writes",
    "description": "What was written.",
    "parts": [{"text": "Nothing was written."}, {"data": {"writes": []}}],
}
DRAFT = {
    "kind": "create",
    "model": "newsroom.article",
    "object_id": "",
    "draft_id": "d-1",
    "workspace": "Desk",
    "tool": "draft_record",
}
LIVE = {
    "kind": "change",
    "model": "newsroom.article",
    "object_id": "17",
    "draft_id": "",
    "workspace": "",
    "tool": "edit",
}


@pytest.fixture
def writing(partner: Client, profile: Profile) -> Client:
    """The partner, whose skill may write now."""
    Profile.objects.filter(pk=profile.pk).update(may_write=True)
    partner.workspace = factories.make_workspace()
    partner.save()
    return partner


def store_write(lease: Lease, facts: dict[str, str]) -> None:
    event = NewEvent(kind=EventKind.WRITE, facts=facts)
    now = clock.database_now()
    assert lifecycle.renew(lease, now=now, new_event=event, has_effects=True)


def fail(lease: Lease) -> None:
    reason, now = EndReason.BUDGET_EXHAUSTED, clock.database_now()
    assert lifecycle.fail(lease.run_id, reason, now=now, lease=lease)


def cancel(lease: Lease) -> None:
    assert lifecycle.cancel(lease.run_id)


def names_of(client: Client, task: dict[str, Any]) -> list[str]:
    shown = read_task(client, task["id"]).get("artifacts", [])
    return [artifact["artifactId"] for artifact in shown]


@pytest.mark.parametrize("end", [complete, fail, cancel])
def test_every_end_lists_what_was_written(partner: Client, end: Any) -> None:
    """S62, T17: also for a skill that may not write any more."""
    task = send(partner)
    lease = claim(task)
    for facts in (DRAFT, LIVE):
        store_write(lease, facts)

    end(lease)

    (artifact,) = read_task(partner, task["id"])["artifacts"]
    text, data = artifact["parts"]
    assert text["text"].splitlines() == [
        "create newsroom.article, draft d-1, workspace «Desk»",
        "change newsroom.article 17",
    ]
    first, second = data["data"]["writes"]
    assert first == {
        "kind": "create",
        "model": "newsroom.article",
        "objectId": "",
        "draftId": "d-1",
        "workspace": "Desk",
        "tool": "draft_record",
    }
    assert (second["objectId"], second["tool"]) == ("17", "edit")


@pytest.mark.parametrize("end", [complete, fail, cancel])
def test_says_so_when_nothing_was_written(writing: Client, end: Any) -> None:
    """S62: and sends it before the event that ends the task."""
    task = send(writing)

    end(claim(task))

    assert read_task(writing, task["id"])["artifacts"] == [NOTHING]


def test_a_task_that_was_not_begun_says_it_too(writing: Client) -> None:
    """S62."""
    task = send(writing)

    assert lifecycle.cancel(AgentRun.objects.get().pk)

    assert names_of(writing, task) == ["writes"]


def test_stands_behind_the_handlers_results(writing: Client) -> None:
    """S62."""
    task = send(writing)
    result = Result(outputs=(text_output("one"), text_output("two")))

    complete(claim(task), result=result)

    assert names_of(writing, task) == ["artifact-1", "artifact-2", "writes"]


def test_a_task_that_goes_on_or_was_refused_has_none(writing: Client) -> None:
    """S62: an input is refused before anything is done."""
    asking, refused = send(writing), send(writing)

    ask(asking)
    lifecycle.reject(claim(refused), detail="No.", now=clock.database_now())

    assert names_of(writing, asking) == names_of(writing, refused) == []


@pytest.mark.parametrize(("number", "reads"), [(0, 0), (1, 1), (3, 1)])
def test_only_writing_skills_pay_for_it(
    partner: Client, number: int, reads: int
) -> None:
    """S62: one query, however much was written."""
    lease = claim(send(partner))
    for _ in range(number):
        store_write(lease, DRAFT)

    with CaptureQueriesContext(connection) as queries:
        complete(lease)

    asked = [query["sql"] for query in queries if query["sql"].startswith("SELECT")]
    assert sum('FROM "agent_runs_agentrunevent"' in sql for sql in asked) == reads


def test_effects_without_write_events_are_no_writes(partner: Client) -> None:
    """S62, T17: a plain handler may have effects of its own."""
    task = send(partner)
    AgentRun.objects.update(has_effects=True)

    complete(claim(task))

    assert names_of(partner, task) == []
