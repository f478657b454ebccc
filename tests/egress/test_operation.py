"""What failures of the wire are called; `test_client` brings them about."""

from __future__ import annotations

import ssl

import httpcore2
import pytest

from egress.errors import EgressError, Interrupted, Reason, TimedOut
from egress.limits import Limits
from egress.operation import Operation


@pytest.mark.parametrize(
    ("error", "kind", "reason"),
    [
        (httpcore2.ReadTimeout(), TimedOut, Reason.IDLE),
        (httpcore2.WriteTimeout(), TimedOut, Reason.IDLE),
        (httpcore2.ReadError(), Interrupted, Reason.BROKEN_OFF),
        (httpcore2.WriteError(), Interrupted, Reason.BROKEN_OFF),
        (httpcore2.RemoteProtocolError("said"), Interrupted, Reason.BROKEN_OFF),
        (ssl.SSLError("said"), Interrupted, Reason.BROKEN_OFF),
    ],
)
@pytest.mark.parametrize("event", ["connection.connect_tcp.started", "http11.anything"])
async def test_names_each_failure_and_whether_anything_has_left(
    error: Exception, kind: type[EgressError], reason: Reason, event: str
) -> None:
    """E7."""
    operation = Operation("peer.test", Limits())
    await operation.trace(event, {})

    with pytest.raises(kind) as failure:
        async with operation.step():
            raise error

    assert failure.value.reason is reason
    assert failure.value.has_left is event.startswith("http11")
    assert "said" not in failure.value.sentence


async def test_what_is_no_failure_of_the_wire_comes_through() -> None:
    with pytest.raises(KeyError):
        async with Operation("peer.test", Limits()).step():
            raise KeyError
