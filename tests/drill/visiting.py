"""How a process of the drill comes to the gate in the test's process, and waits there."""

from __future__ import annotations

import json
import os
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_LOOK_UP_SECONDS = 0.1


def visit(name: str, check: Callable[[], None] | None = None) -> None:
    """Wait at the gate; raise what `check` raises meanwhile."""
    wait_at(int(os.environ["DRILL_GATE_PORT"]), name, check)


def wait_at(port: int, name: str, check: Callable[[], None] | None = None) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        hello = {"name": name, "pid": os.getpid()}
        connection.sendall(json.dumps(hello).encode() + b"\n")
        if check:
            connection.settimeout(_LOOK_UP_SECONDS)
        while not _is_open(connection):
            if check:
                check()


def _is_open(connection: socket.socket) -> bool:
    try:
        word = connection.recv(1)
    except TimeoutError:
        return False
    if not word:
        raise ConnectionError("the gate went away")
    return True
