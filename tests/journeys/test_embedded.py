"""The smallest installation: SQLite, one web process, one sweep, no Redis (O1, S3)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import httpx2
import pytest

from a2a_project import launch
from tests import peer as peers
from tests.peer import Peer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.processes import Installation

pytestmark = pytest.mark.services

TEXT = "The meeting began late. It decided to move the release to May. Nobody objected."


@pytest.fixture
def peer(embedded_site: Installation) -> Iterator[Peer]:
    sweep = embedded_site.start("sweep", launch.sweep())
    token = embedded_site.seed()["token"]
    embedded_site.start_web()
    assert sweep.popen.poll() is None
    with Peer(embedded_site.base_url, token) as made:
        yield made


def test_answers_from_the_card_to_the_result(
    embedded_site: Installation, peer: Peer
) -> None:
    """S3, S6, S44, S65, S66."""
    card = httpx2.get(
        f"{embedded_site.origin}/.well-known/agent-card.json", trust_env=False
    ).json()
    url = card["supportedInterfaces"][0]["url"]
    skills = [skill["id"] for skill in card["skills"]]

    with Peer(url, peer.token) as found:
        answers = [found.send(TEXT, skill=skill, wait=True) for skill in skills]
        tasks = [peers.task_of(answer) for answer in answers]
        immediate = found.start(TEXT, skill=skills[0])
        ended = found.wait_until_ended(immediate)
        too_late = found.call("CancelTask", {"id": immediate})
        listed = peers.result_of(found.call("ListTasks", {"pageSize": 2}))

    assert [peers.state_of(task) for task in tasks] == ["COMPLETED"] * len(skills)
    assert all(peers.text_of(task) for task in [*tasks, ended])
    assert too_late.error["code"] == -32002
    assert (len(listed["tasks"]), listed["totalSize"]) == (2, len(skills) + 1)


def test_many_at_once_find_the_database_open(peer: Peer) -> None:
    """S48: SQLite has one writer, and everybody gets a turn."""
    calls = [
        partial(peer.send, f"Message {number}. {TEXT}", skill="summary")
        for number in range(10)
    ]

    answers = peers.at_once(calls)

    task_ids = [peers.task_of(answer)["id"] for answer in answers]
    states = [peers.state_of(peer.wait_until_ended(task_id)) for task_id in task_ids]
    assert states == ["COMPLETED"] * 10
