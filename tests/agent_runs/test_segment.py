from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from django.db import OperationalError, transaction

from agent_runs import lifecycle
from agent_runs.events import NewEvent
from agent_runs.models import AgentRun, AnswerLevel
from agent_runs.models.run import EventKind
from agent_runs.segment import Ending, SegmentEnded
from tests import factories
from tests.agent_runs.segments import make_segment

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.django_db

EVENT = NewEvent(kind=EventKind.TOOL, facts={"tool": "look"})


def test_the_first_reason_to_end_stays() -> None:
    segment = make_segment()

    segment.end(Ending.STOPPING)
    segment.end(Ending.GONE)

    assert segment.ending is Ending.STOPPING


def test_a_checkpoint_and_its_event_are_stored_together() -> None:
    """R8: in the transaction that renews the lease."""
    segment = make_segment(pending="answer")

    segment.store_checkpoint("state", event=EVENT, rounds=1)

    stored = AgentRun.objects.get(id=segment.run.id)
    assert (stored.checkpoint, stored.pending, stored.rounds) == ("state", None, 1)
    assert stored.events.get().facts == {"tool": "look"}


def test_without_the_lease_neither_is_stored() -> None:
    segment = make_segment()
    lifecycle.cancel(segment.run.id)

    with pytest.raises(SegmentEnded):
        segment.store_checkpoint("state", event=EVENT)

    stored = AgentRun.objects.get(id=segment.run.id)
    assert stored.checkpoint is None
    assert [event.kind for event in stored.events.all()] == ["settled"]
    assert segment.ending is Ending.GONE


def test_an_end_that_came_before_interrupts_what_begins_now() -> None:
    """A cancel between two steps is not missed by the second."""
    segment = make_segment()
    segment.end(Ending.GONE)
    interrupted: list[bool] = []

    with segment.interruptible(lambda: interrupted.append(True)):
        pass

    assert interrupted == [True]


def test_after_the_wait_nothing_is_interrupted_any_more() -> None:
    segment = make_segment()
    interrupted: list[bool] = []
    with segment.interruptible(lambda: interrupted.append(True)):
        pass

    segment.end(Ending.GONE)

    assert interrupted == []


def test_a_lease_that_ran_out_is_noticed_at_the_next_check() -> None:
    """R9: even where no supervisor could tell."""
    segment = make_segment()
    segment.lease.runs_out_at = 0.0

    with pytest.raises(SegmentEnded):
        segment.check()

    assert segment.ending is Ending.GONE


def test_a_stop_need_not_count() -> None:
    segment = make_segment()
    segment.end(Ending.STOPPING)

    segment.check(stopping_counts=False)
    with pytest.raises(SegmentEnded):
        segment.check()


def test_effects_are_marked_once() -> None:
    segment = make_segment()

    segment.mark_effects()

    assert AgentRun.objects.get(id=segment.run.id).has_effects
    lifecycle.cancel(segment.run.id)
    segment.mark_effects()


@pytest.mark.parametrize(
    ("snapshot", "current", "level"),
    [
        ("full", "metadata", AnswerLevel.METADATA),
        ("redacted", "full", AnswerLevel.REDACTED),
        ("full", "whatever", AnswerLevel.NONE),
    ],
    ids=["provider stricter", "snapshot stricter", "unknown"],
)
def test_the_stricter_answer_level_counts(
    snapshot: str, current: str, level: AnswerLevel
) -> None:
    """R16."""
    provider = factories.make_provider(answer_level=current)
    segment = make_segment(
        answer_level=snapshot,
        configuration=factories.make_configuration(provider=provider),
    )

    assert segment.level is level


# --- A store that is away -------------------------------------------------------------


def failing(times: int) -> Callable[[], str]:
    """Refused so often by the store, and then done."""
    refusals = [OperationalError("away")] * times

    def act() -> str:
        if refusals:
            raise refusals.pop()
        return "done"

    return act


@pytest.mark.django_db(transaction=True)
def test_repeats_what_the_store_refused_while_the_lease_lasts() -> None:
    """R9."""
    assert make_segment().persist(failing(1)) == "done"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("why", ["the lease has run out", "the segment has ended"])
def test_gives_up_when_the_run_may_be_somebody_elses(why: str) -> None:
    segment = make_segment()
    if why == "the lease has run out":
        segment.lease.runs_out_at = time.monotonic()
    else:
        segment.end(Ending.GONE)

    with pytest.raises(OperationalError):
        segment.persist(failing(1))


@pytest.mark.django_db(transaction=True)
def test_repeats_nothing_inside_a_callers_transaction() -> None:
    """R13: what was written before it is undone as well."""
    segment = make_segment()

    with pytest.raises(OperationalError), transaction.atomic():
        segment.persist(failing(1))
