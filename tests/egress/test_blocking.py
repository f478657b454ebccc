from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from egress import blocking
from egress.errors import Reason, Refused
from tests.egress import peers
from tests.egress.peers import StubResolver

if TYPE_CHECKING:
    from egress.client import Answer
    from tests.egress.peers import Peer


def _request(peer: Peer) -> Answer:
    return blocking.request(
        peers.policy_for(peer),
        "POST",
        peer.url(),
        headers={"X-Word": "a"},
        content=b"hello",
        resolver=StubResolver(),
        ssl_context=peers.client_context(),
    )


async def test_asks_from_a_thread_while_a_loop_runs_elsewhere() -> None:
    """As the admin does under ASGI."""
    async with peers.serving(peers.answering(peers.OK)) as peer:
        answer = await asyncio.to_thread(_request, peer)

    assert (answer.status, answer.body) == (200, b"ok")
    assert peer.requests[0].endswith(b"hello")


def test_asks_where_no_loop_runs_at_all() -> None:
    """As a worker does; the guard is the same."""
    with pytest.raises(Refused) as refusal:
        blocking.request(peers.policy_for(), "GET", "https://localhost/")

    assert refusal.value.reason is Reason.NOT_PUBLIC


async def test_says_so_where_a_loop_would_stand_still() -> None:
    with pytest.raises(RuntimeError, match="An event loop runs in this thread"):
        _request(peers.Peer(peers.answering(b""), port=443))
