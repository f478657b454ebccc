from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from agent_runs import stopping

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _reset() -> Iterator[None]:
    yield
    stopping.reset()


def test_a_process_does_not_stop_by_itself() -> None:
    assert not stopping.is_stopping()
    assert not stopping.grace_is_over()


def test_a_stop_is_seen_at_once_and_its_grace_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """W6: 30 seconds."""
    stopping.request_stop()

    assert stopping.GRACE_SECONDS == 30
    assert (stopping.is_stopping(), stopping.grace_is_over()) == (True, False)
    monkeypatch.setattr(stopping, "GRACE_SECONDS", 0.0)
    assert stopping.grace_is_over()


def test_a_wait_ends_when_the_process_is_told_to_stop() -> None:
    timer = threading.Timer(0.05, stopping.request_stop)
    timer.start()

    stopping.wait(60)

    timer.join()
    assert stopping.is_stopping()


def test_a_wait_ends_by_itself() -> None:
    stopping.wait(0.01)

    assert not stopping.is_stopping()


def test_a_second_stop_does_not_prolong_the_grace() -> None:
    stopping.request_stop()
    first = stopping._stopped_at.value

    stopping.request_stop()

    assert stopping._stopped_at.value == first
