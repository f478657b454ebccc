"""Limits and repeats are exact when everybody comes at once (S47, S48).

Two web processes on one database, and a worker that takes nothing.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests import peer as peers
from tests import processes

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.asgi_peer import Answer
    from tests.drill.stand import Stand
    from tests.peer import Peer

pytestmark = pytest.mark.services

AT_ONCE = 50
LIMIT = 10


@pytest.fixture(scope="module")
def ports(quiet: Stand) -> tuple[int, int]:
    other = processes.free_port()
    quiet.site.start_another_web(other)
    skills: dict[str, Any] = {
        "free": {"handler": "drill.read_only"},
        "scarce": {"handler": "drill.read_only", "quota": LIMIT},
    }
    clients: dict[str, Any] = {
        "repeating": {"skills": ["free"]},
        "limited": {"skills": ["free"], "task_limit": LIMIT},
        "left": {"skills": ["scarce"]},
        "right": {"skills": ["scarce"]},
    }
    quiet.make_records(skills, clients)
    quiet.pretend_a_worker()
    return quiet.site.port, other


def _through_both(quiet: Stand, ports: tuple[int, int], *names: str) -> list[Peer]:
    """One peer for each call: every client through every process, in turn."""
    peers_ = [quiet.peer(name, port=port) for name in names for port in ports]
    return [peers_[number % len(peers_)] for number in range(AT_ONCE)]


def _outcomes(answers: list[Answer]) -> Counter[tuple[int, str]]:
    return Counter(
        (answer.status, answer.reasons[0] if "error" in answer.json else "")
        for answer in answers
    )


def _stored(quiet: Stand, *names: str) -> int:
    lists = [quiet.peer(name).call("ListTasks", {"pageSize": 100}) for name in names]
    results = [peers.result_of(answer) for answer in lists]
    # Counted and kept in a row of its own: both must say the same.
    assert [len(r["tasks"]) for r in results] == [r["totalSize"] for r in results]
    return sum(result["totalSize"] for result in results)


def test_one_message_id_makes_one_task(quiet: Stand, ports: tuple[int, int]) -> None:
    """S47."""
    calls: list[Callable[[], str]] = [
        partial(peer.start, "the same", message_id="one")
        for peer in _through_both(quiet, ports, "repeating")
    ]

    task_ids = peers.at_once(calls)

    assert len(set(task_ids)) == 1
    assert _stored(quiet, "repeating") == 1


def test_a_client_stores_exactly_as_many_as_it_may(
    quiet: Stand, ports: tuple[int, int]
) -> None:
    """S48."""
    calls = [
        partial(peer.send, f"message {number}")
        for number, peer in enumerate(_through_both(quiet, ports, "limited"))
    ]

    outcomes = _outcomes(peers.at_once(calls))

    assert outcomes == {
        (200, ""): LIMIT,
        (429, "CLIENT_TASK_LIMIT_REACHED"): AT_ONCE - LIMIT,
    }
    assert _stored(quiet, "limited") == LIMIT


def test_a_profile_holds_exactly_its_quota_from_all_clients(
    quiet: Stand, ports: tuple[int, int]
) -> None:
    """S48: both rows are locked, always in the same order."""
    calls = [
        partial(peer.send, f"message {number}")
        for number, peer in enumerate(_through_both(quiet, ports, "left", "right"))
    ]

    outcomes = _outcomes(peers.at_once(calls))

    assert outcomes == {
        (200, ""): LIMIT,
        (429, "PROFILE_QUOTA_REACHED"): AT_ONCE - LIMIT,
    }
    assert _stored(quiet, "left", "right") == LIMIT
