from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from agent_runs import clock, updates
from agent_runs.encryption import field_of
from agent_runs.models import AgentRun, EndReason, RunState
from agent_runs.statements import Update
from tests import factories

pytestmark = pytest.mark.django_db

ALL = {
    name: found for name, found in vars(updates).items() if isinstance(found, Update)
}
HELD = ("SUSPEND", "REQUEUE", "RELEASE", "COMPLETE", "END_HELD")
EXPIRED = ("REQUEUE_EXPIRED", "END_EXPIRED")


def _given(name: str, run: AgentRun) -> dict[str, Any]:
    """What the move takes, for a run whose lease is `factories.make_run`'s."""
    state = _target(name)
    now = clock.database_now() + timedelta(seconds=1)
    values = {
        "id": run.id,
        "expected": run.state,
        "state": state,
        "now": now,
        "new_events": 1,
        "end_reason": EndReason.CANCELED if RunState(state).is_terminal else "",
        "holder": "test-owner",
        "expired_before": now,
        "due_at": now,
        "nudged_at": None,
        "lease_owner": "me",
        "lease_expires_at": now,
        "pending": field_of(AgentRun, "pending").seal(run.id, "{}"),
        "result": field_of(AgentRun, "result").seal(run.id, "{}"),
        "truncated": False,
        "waiting_for": field_of(AgentRun, "waiting_for").seal(run.id, "{}"),
        "waiting_id": run.waiting_id or "question",
    }
    return {each: values[each] for each in ALL[name].names}


def _target(name: str) -> str:
    if name in {"COMPLETE", "END", "END_HELD", "END_EXPIRED"}:
        return RunState.CANCELED
    if name == "SUSPEND":
        return RunState.WAITING_FOR_INPUT
    return RunState.RUNNING if name == "CLAIM" else RunState.QUEUED


def _source(name: str) -> str:
    if name == "RESUME":
        return RunState.WAITING_FOR_INPUT
    return RunState.QUEUED if name == "CLAIM" else RunState.RUNNING


@pytest.mark.parametrize("name", ALL)
def test_moves_one_row_and_counts_what_comes_with_it(name: str) -> None:
    """R2, R15."""
    run, other = (factories.make_run(_source(name)) for _ in range(2))
    given = _given(name, run)

    assert ALL[name].execute(**given) == 1

    run.refresh_from_db()
    assert (run.state, run.state_changed_at) == (given["state"], given["now"])
    assert run.events_written == 1
    assert AgentRun.objects.get(id=other.id).state == other.state


@pytest.mark.parametrize("name", ALL)
def test_leaves_a_run_that_is_in_another_state(name: str) -> None:
    """R2, R3."""
    run = factories.make_run(_source(name))
    given = _given(name, run) | {"expected": RunState.COMPLETED}

    assert ALL[name].execute(**given) == 0


@pytest.mark.parametrize("name", [*HELD, *EXPIRED])
def test_leaves_a_run_whose_lease_is_another_segments(name: str) -> None:
    """R9."""
    run = factories.make_run(_source(name))
    AgentRun.objects.update(lease_owner="another")

    assert ALL[name].execute(**_given(name, run)) == 0


@pytest.mark.parametrize("name", EXPIRED)
def test_leaves_a_run_whose_lease_lasts(name: str) -> None:
    """R9: it may have been renewed since the reaper looked."""
    run = factories.make_run(_source(name))
    AgentRun.objects.update(lease_expires_at=F("lease_expires_at") + timedelta(hours=1))

    assert ALL[name].execute(**_given(name, run)) == 0
