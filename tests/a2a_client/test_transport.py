from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from asgiref.sync import async_to_sync

from a2a_client import transport
from a2a_client.replies import Accepted, NotAccepted, Unknown
from a2a_protocol import types
from tests import factories
from tests.a2a_client import agents, scripts

if TYPE_CHECKING:
    from a2a_client.models import RemoteAgent
    from a2a_client.replies import Judgement
    from tests.a2a_client.peer import Peer, Script

pytestmark = pytest.mark.django_db

AUDIT = transport.Audit(purpose="test")
GET = types.GetTaskRequest(id="R1")


def ask(
    agent: RemoteAgent, method: str = "GetTask", *, seconds: float | None = None
) -> Judgement:
    send = async_to_sync(transport.send)
    return send(agent, method, GET, audit=AUDIT, seconds=seconds)


def answered(peer: Peer, *answers: Script, seconds: float | None = None) -> Judgement:
    """What is made of this answer, which was asked for exactly once."""
    peer.on("GetTask", *answers)
    found = ask(factories.make_remote_agent(peer.url), seconds=seconds)
    assert peer.count("GetTask") == 1
    return found


def test_a_result_is_accepted(peer: Peer) -> None:
    assert answered(peer, scripts.result(agents.task())) == Accepted(
        result=agents.task()
    )
