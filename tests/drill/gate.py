"""The gate at which the drill's runs wait: a server in the test's own process.

Every arrival, every opening and every departure is an event, so that a test knows where a
run stands without asking again and again, also when its worker was killed.
"""

from __future__ import annotations

import contextlib
import json
import socketserver
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

SECONDS = 60.0


@dataclass(slots=True, kw_only=True, eq=False)
class Visit:
    name: str
    pid: int
    connection: socket.socket
    number: int = 1
    left: threading.Event = field(default_factory=threading.Event)

    def open(self) -> None:
        """Let it go on; whoever is gone already does not hear it."""
        with contextlib.suppress(OSError):
            self.connection.sendall(b"!")

    def wait_until_left(self, *, seconds: float = SECONDS) -> None:
        assert self.left.wait(seconds), f"{self.name} is still at the gate"


class Gate:
    def __init__(self, port: int) -> None:
        self.port = port
        self._visits: list[Visit] = []
        self._open: set[str] = set()
        self._held: set[tuple[str, int]] = set()
        self._is_wide_open = False
        self._changed = threading.Condition()

    def visits(self, name: str) -> list[Visit]:
        with self._changed:
            return [visit for visit in self._visits if visit.name == name]

    def all_visits(self) -> list[Visit]:
        """In the order of arrival."""
        with self._changed:
            return list(self._visits)

    @property
    def names(self) -> list[str]:
        return [visit.name for visit in self.all_visits()]

    def wait_for(self, name: str, *, count: int = 1, seconds: float = SECONDS) -> Visit:
        """The visit of that name and number, as soon as it is there."""
        self._wait(
            lambda: sum(visit.name == name for visit in self._visits) >= count,
            seconds,
            f"visit {count} of {name}",
        )
        return self.visits(name)[count - 1]

    def wait_for_many(self, count: int, *, seconds: float = SECONDS) -> None:
        self._wait(lambda: len(self._visits) >= count, seconds, f"{count} visits")

    def open(self, *names: str) -> None:
        """Let these pass, now and whenever they come."""
        with self._changed:
            self._open.update(names)
        self._let_pass()

    def open_for_all(self) -> None:
        with self._changed:
            self._held.clear()
        self.open_for_others()

    def open_for_others(self) -> None:
        """Let everybody pass but whom `hold` names."""
        with self._changed:
            self._is_wide_open = True
        self._let_pass()

    def shut(self) -> None:
        """Whoever comes from now on waits."""
        with self._changed:
            self._is_wide_open = False

    def hold(self, name: str, *, number: int = 1) -> None:
        """The visit of that name and number waits, also while others pass."""
        with self._changed:
            self._held.add((name, number))

    def release(self, name: str) -> None:
        """Hold no visit of that name any longer."""
        with self._changed:
            self._held = {held for held in self._held if held[0] != name}
        self._let_pass()

    def _let_pass(self) -> None:
        with self._changed:
            waiting = [visit for visit in self._visits if self._is_free(visit)]
        for visit in waiting:
            visit.open()

    def _is_free(self, visit: Visit) -> bool:
        if (visit.name, visit.number) in self._held:
            return False
        return self._is_wide_open or visit.name in self._open

    def _wait(self, check: Callable[[], bool], seconds: float, what: str) -> None:
        with self._changed:
            there = self._changed.wait_for(check, seconds)
            names = [visit.name for visit in self._visits]
        assert there, f"{what}: not within {seconds} s; came: {names}"

    def _arrive(self, visit: Visit) -> bool:
        with self._changed:
            visit.number += sum(each.name == visit.name for each in self._visits)
            self._visits.append(visit)
            self._changed.notify_all()
            return self._is_free(visit)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128


@contextlib.contextmanager
def gate() -> Iterator[Gate]:
    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                _receive(self, made)

    with _Server(("127.0.0.1", 0), Handler) as server:
        made = Gate(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()


def _receive(handler: socketserver.StreamRequestHandler, made: Gate) -> None:
    hello = json.loads(handler.rfile.readline() or b"{}")
    if not hello:
        return
    visit = Visit(name=hello["name"], pid=hello["pid"], connection=handler.connection)
    try:
        if made._arrive(visit):
            visit.open()
        # Ends when the visitor goes on, or when its process dies.
        handler.rfile.read()
    finally:
        visit.left.set()
