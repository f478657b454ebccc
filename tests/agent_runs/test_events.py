from __future__ import annotations

import pytest

from agent_runs import clock, events
from agent_runs.events import NewEvent
from agent_runs.models import AgentRun, AgentRunEvent
from agent_runs.models.run import EventKind
from tests import factories

pytestmark = pytest.mark.django_db


def test_an_event_takes_the_number_its_run_has_counted() -> None:
    """R15."""
    run = factories.make_run(events_written=7)
    now = clock.database_now()

    events.insert(
        run.id,
        NewEvent(
            kind=EventKind.MODEL, round=2, duration_ms=15, facts={"a": 1}, content="hi"
        ),
        now=now,
    )

    event = AgentRunEvent.objects.get(run=run)
    assert (event.sequence, event.kind, event.round) == (7, "model", 2)
    assert (event.duration_ms, event.facts, event.created_at) == (15, {"a": 1}, now)
    assert event.content == "hi"


def test_the_content_is_encrypted_at_rest() -> None:
    """R17."""
    run = factories.make_run(events_written=1)

    events.insert(
        run.id,
        NewEvent(kind=EventKind.MODEL, content="private words"),
        now=clock.database_now(),
    )

    assert "private" not in str(AgentRunEvent.objects.values_list("content").get())
    assert not AgentRun.objects.filter(request__contains="Hello").exists()
