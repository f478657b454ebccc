"""Bodies without an end cost neither memory nor time (S10, S41, B014)."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import peer as peers

if TYPE_CHECKING:
    from tests.drill.stand import Stand
    from tests.peer import Peer
    from tests.processes import Process

pytestmark = pytest.mark.services

CHUNK = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
# What the kernels on both sides buffer on top of what the server reads.
MOST_SENT = 16 * 1024 * 1024
MOST_GROWTH = 8 * 1024 * 1024


def _memory(process: Process) -> int:
    """Its resident set, in bytes."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    found = re.search(r"^VmRSS:\s*(\d+) kB$", status, re.MULTILINE)
    assert found
    return int(found[1]) * 1024


def _upload_for_ever(peer: Peer) -> tuple[bytes, int]:
    """Send chunks until the server has had enough: its answer, and how much went out."""
    head = peer.head({"Transfer-Encoding": "chunked"})
    sent = 0
    with socket.create_connection(peer.address, timeout=20) as connection:
        connection.sendall(head)
        connection.setblocking(False)
        answer = b""
        while sent < MOST_SENT:
            sent += _send_some(connection)
            try:
                received = connection.recv(65536)
            except BlockingIOError:
                continue
            except ConnectionError:
                break
            if not received:
                break
            answer += received
    return answer, sent


def _send_some(connection: socket.socket) -> int:
    try:
        return connection.send(CHUNK)
    except (BlockingIOError, ConnectionError):
        return 0


@pytest.mark.parametrize(
    ("is_known", "status", "reason"),
    [
        pytest.param(True, b"413", b"REQUEST_TOO_LARGE", id="client"),
        pytest.param(False, b"401", b"UNAUTHENTICATED", id="nobody"),
    ],
)
def test_an_endless_upload_is_refused(
    quiet: Stand, is_known: bool, status: bytes, reason: bytes
) -> None:
    """S41, S10: whoever is not let in has no byte of its body read before."""
    (web,) = quiet.site.processes
    token = quiet.tokens["client"] if is_known else "a2a_nobody"
    before = _memory(web)

    with peers.Peer(quiet.site.base_url, token) as peer:
        answer, sent = _upload_for_ever(peer)

    assert answer.startswith(b"HTTP/1.1 " + status)
    assert reason in answer
    assert sent < MOST_SENT
    assert _memory(web) - before < MOST_GROWTH
    assert quiet.peer().call("ListTasks", {}).status == 200
