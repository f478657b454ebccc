"""Calls at the same moment, each in a thread with a connection of its own."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from django.db import connections

from a2a_protocol.errors import ProtocolError
from a2a_server.models import Task, TaskCounter

if TYPE_CHECKING:
    from collections.abc import Callable


def together(functions: list[Callable[[], str]]) -> list[str]:
    """What each says, or why it was refused."""
    barrier = threading.Barrier(len(functions))

    def run(function: Callable[[], str]) -> str:
        try:
            barrier.wait()
            return function()
        except ProtocolError as error:
            return error.reason or error.code.name
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(functions)) as threads:
        return list(threads.map(run, functions))


def assert_counters_are_right() -> None:
    counted = {
        (row.client_id, row.state): row.count
        for row in TaskCounter.objects.filter(count__gt=0)
    }
    assert counted == Counter(Task.objects.values_list("client_id", "state"))
