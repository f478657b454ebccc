from __future__ import annotations

import pytest

from a2a_protocol.errors import ErrorCode, ProtocolError
from a2a_server import addressing
from a2a_server.errors import Reason, refuse
from a2a_server.exchanges import Exchange
from tests.asgi_peer import Peer, make_scope


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (refuse(Reason.WORKER_UNAVAILABLE), "WORKER_UNAVAILABLE"),
        (ProtocolError(code=ErrorCode.TASK_NOT_FOUND), "TASK_NOT_FOUND"),
        (ProtocolError(code=ErrorCode.INVALID_PARAMS), "INVALID_PARAMS"),
    ],
    ids=["a finer reason", "the protocol's reason", "the code's name"],
)
def test_notes_the_finest_reason_of_a_refusal(
    error: ProtocolError, outcome: str
) -> None:
    """S91."""
    scope = make_scope()
    target = addressing.find_target(scope)
    assert target
    exchange = Exchange(
        scope=scope, receive=Peer().receive, target=target, request_id="r"
    )

    exchange.note_refusal(error)

    assert exchange.outcome == outcome
