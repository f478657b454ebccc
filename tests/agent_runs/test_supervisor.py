from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest
from django.db import OperationalError

from agent_runs import clock, lifecycle, stopping, workers
from agent_runs.models import AgentRun, WorkerHeartbeat
from agent_runs.models.worker import Transport
from agent_runs.segment import Ending, Segment
from agent_runs.supervisor import RENEW_SECONDS, TICK_SECONDS, Supervisor
from tests.agent_runs.segments import make_segment

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    supervisor = Supervisor(tick_seconds=0.05)
    yield supervisor
    # The thread has no connection left that would keep the test database busy.
    assert supervisor.idle.wait(5)


def _ends(supervisor: Supervisor, segment: Segment) -> Ending | None:
    """Watch until the supervisor ends the segment."""
    ended = threading.Event()
    with segment.interruptible(ended.set), supervisor.watching(segment):
        ended.wait(5)
    return segment.ending


def test_a_canceled_run_ends_its_segment_within_a_second() -> None:
    """R14."""
    supervisor = Supervisor()
    segment = make_segment()
    lifecycle.cancel(segment.run.id)
    started = time.monotonic()

    assert _ends(supervisor, segment) is Ending.GONE
    assert time.monotonic() - started < TICK_SECONDS + 1
    assert supervisor.idle.wait(5)


def test_a_segment_that_is_over_soon_costs_no_query(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    """R9: its lease was taken a moment ago, so nobody can have taken it over."""
    asked = threading.Event()
    monkeypatch.setattr(lifecycle, "still_held", lambda _: asked.set())

    with supervisor.watching(make_segment()):
        assert not asked.wait(supervisor.tick_seconds / 2)

    assert not asked.wait(2 * supervisor.tick_seconds)


def test_a_run_taken_over_ends_the_old_segment(supervisor: Supervisor) -> None:
    segment = make_segment()
    AgentRun.objects.filter(id=segment.run.id).update(lease_owner="another")

    assert _ends(supervisor, segment) is Ending.GONE


def test_a_lease_is_renewed_when_it_is_time(supervisor: Supervisor) -> None:
    """R9: renewed by the supervisor during long model calls."""
    segment = make_segment()
    segment.renewed_at = time.monotonic() - RENEW_SECONDS
    before = segment.lease.runs_out_at

    with supervisor.watching(segment):
        deadline = time.monotonic() + 5
        while segment.lease.runs_out_at == before and time.monotonic() < deadline:
            threading.Event().wait(0.02)

    assert segment.lease.runs_out_at > before
    assert segment.ending is None


def test_a_lease_that_ran_out_by_the_monotonic_clock_is_lost(
    supervisor: Supervisor,
) -> None:
    """R9: even when the store says nothing."""
    segment = make_segment()
    segment.lease.runs_out_at = time.monotonic() - 1

    assert _ends(supervisor, segment) is Ending.GONE


def test_a_store_that_hangs_does_not_keep_a_lease_alive(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    """R9: by the monotonic clock, whatever the database does."""
    answers = threading.Event()

    def hang(*_: object) -> set[str]:
        answers.wait(10)
        return set()

    segment = make_segment()
    monkeypatch.setattr(lifecycle, "still_held", hang)
    segment.lease.runs_out_at = time.monotonic() + 0.1
    try:
        ending = _ends(supervisor, segment)
    finally:
        answers.set()

    assert ending is Ending.GONE


def test_whatever_goes_wrong_supervision_goes_on(
    monkeypatch: pytest.MonkeyPatch,
    supervisor: Supervisor,
    caplog: pytest.LogCaptureFixture,
) -> None:
    segment = make_segment()
    with monkeypatch.context() as patched:
        failed = threading.Event()

        def fail(*_: object) -> set[str]:
            failed.set()
            raise RuntimeError

        patched.setattr(lifecycle, "still_held", fail)
        with supervisor.watching(segment):
            assert failed.wait(5)
    lifecycle.cancel(segment.run.id)

    assert _ends(supervisor, segment) is Ending.GONE
    assert "leases not looked after" in caplog.text


def test_a_store_that_is_away_does_not_end_a_segment_at_once(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    """R9: tried again until the lease would have run out."""
    failures = threading.Semaphore(0)

    def away(*_: object) -> set[object]:
        failures.release()
        raise OperationalError

    segment = make_segment()
    monkeypatch.setattr(lifecycle, "still_held", away)

    with supervisor.watching(segment):
        assert failures.acquire(timeout=5)
        assert failures.acquire(timeout=5)

    assert segment.ending is None


def test_a_stop_ends_segments_only_after_the_grace(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    """W6."""
    stopping.request_stop()
    try:
        patient = make_segment()
        with supervisor.watching(patient):
            threading.Event().wait(0.1)
        monkeypatch.setattr(stopping, "GRACE_SECONDS", 0.0)
        hurried = make_segment()
        ending = _ends(supervisor, hurried)
    finally:
        stopping.reset()

    assert patient.ending is None
    assert ending is Ending.STOPPING


def test_a_worker_with_a_long_run_beats_from_the_supervisor(
    supervisor: Supervisor,
) -> None:
    """W1: a long run does not look like a dead worker."""
    workers.announce(
        workers.Identity(transport=Transport.SWEEP, queues=(), version="1")
    )
    past = clock.database_now() - workers.SEEN_WITHIN
    WorkerHeartbeat.objects.update(last_seen_at=past)
    try:
        with supervisor.watching(make_segment()):
            deadline = time.monotonic() + 5
            while not workers.is_worker_available(clock.database_now()):
                assert time.monotonic() < deadline
                threading.Event().wait(0.02)
    finally:
        workers.withdraw()

    assert not WorkerHeartbeat.objects.exists()
