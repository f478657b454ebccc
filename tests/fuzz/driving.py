"""Inputs on their way into the application, and judged answers on their way out."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from a2a_project.logs import JSONFormatter
from a2a_server import waiting
from tests.asgi_peer import Answer, ask, make_scope, rpc_body
from tests.fuzz import inputs, records
from tests.fuzz.inputs import Sender
from tests.fuzz.judge import judge
from tests.fuzz.mutations import mutated

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Iterator

    from a2a_server.asgi_types import Application
    from tests.fuzz.inputs import Input
    from tests.fuzz.judge import Tally
    from tests.fuzz.records import Records

AT_ONCE = 24


class LogWatch(logging.Handler):
    """Looks at every line of the log that inputs cause, and keeps none.

    No line holds a token, and nothing happens that is an error.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        self.setFormatter(JSONFormatter())
        self._secrets = list(secrets)
        self._complaints: list[str] = []

    def check(self) -> None:
        assert self._complaints == [], "\n".join(self._complaints[:3])

    def emit(self, record: logging.LogRecord) -> None:
        line = self.format(record)
        if record.levelno >= logging.ERROR or record.exc_info:
            self._complaints.append(line.replace("\\n", "\n"))
        if any(secret in line for secret in self._secrets):
            self._complaints.append(f"a token: {line}")


@contextlib.contextmanager
def watching_log(secrets: Iterable[str]) -> Iterator[LogWatch]:
    """Instead of pytest's own handlers, which would keep every line in memory."""
    watch = LogWatch(secrets)
    loggers = [logging.getLogger(name) for name in ("a2a_server", "uvicorn")]
    # The framework calls a wrong host an error.
    logging.getLogger("django").setLevel(logging.CRITICAL)
    for logger in loggers:
        logger.addHandler(watch)
        logger.propagate = False
        logger.setLevel(logging.INFO)
    try:
        yield watch
    finally:
        logging.getLogger("django").setLevel(logging.INFO)
        for logger in loggers:
            logger.setLevel(logging.NOTSET)
            logger.propagate = True
            logger.removeHandler(watch)


@dataclass(slots=True)
class Driver:
    """Asks an ASGI application, many inputs at once, in one event loop."""

    application: Application
    records: Records
    tally: Tally
    lost: int = 0
    _runner: asyncio.Runner = field(default_factory=asyncio.Runner)
    _stalled: list[asyncio.Task[None]] = field(default_factory=list)
    _worker: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        self._runner.run(self._start_worker())
        return self

    def __exit__(self, *exception: object) -> None:
        self._runner.run(self._end())
        self._runner.close()

    async def _start_worker(self) -> None:
        self._worker = asyncio.create_task(records.work_for_ever())

    async def _end(self) -> None:
        if self._worker:
            self._worker.cancel()
        for task in self._stalled:
            task.cancel()
        await waiting.close()

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        self._runner.run(work)
        if self._worker and self._worker.done():
            self._worker.result()

    async def batch(self, seed: int, numbers: Iterable[int]) -> None:
        """Ask for each of the numbers; then the server still has to be there."""
        room = asyncio.Semaphore(AT_ONCE)
        async with asyncio.TaskGroup() as group:
            for number in numbers:
                rng = random.Random(f"{seed}:{number}")  # noqa: S311
                given = mutated(rng, self.records.names)
                title = f"FUZZ_SEED={seed} FUZZ_ONLY={number} -k changed"
                if given.stalls:
                    # Takes as long as a body may; asked about at the very end.
                    task = asyncio.create_task(self.ask(given, title))
                    self._stalled.append(task)
                    continue
                await room.acquire()
                work = group.create_task(self.ask(given, title))
                work.add_done_callback(lambda _: room.release())
        await self._ask_plainly()

    async def ask(self, given: Input, title: str) -> None:
        sender, began = Sender(given), time.monotonic()
        try:
            await self.application(given.scope, sender.receive, sender.send)
            self._judge(given, sender, time.monotonic() - began)
        except Exception as error:
            raise AssertionError(f"{title}\n{given}\n{sender.sent}") from error

    def _judge(self, given: Input, sender: Sender, seconds: float) -> None:
        if not sender.sent:
            assert given.breaks, "no answer at all"
            self.tally.count("no answer: the peer had gone")
            return
        answer = answer_of(sender)
        outcome = judge(given, answer, self.records.names, seconds=seconds)
        self.tally.count(outcome.words)
        if outcome.task_id:
            self.records.announced.add(outcome.task_id)

    async def _ask_plainly(self) -> None:
        names = self.records.names
        headers = [(k.decode(), v.decode()) for k, v in usual_headers(names.tokens[0])]
        body = rpc_body("GetTask", {"id": names.tasks[0]})
        answer = await ask(self.application, make_scope(headers=headers), [body])
        assert answer.json["result"]["id"] == names.tasks[0]

    async def end_stalled(self) -> None:
        await asyncio.gather(*self._stalled)


def usual_headers(token: str) -> list[tuple[bytes, bytes]]:
    """Without the host, which `make_scope` adds."""
    return [row for row in inputs.real_headers(token) if row[0] != b"host"]


def answer_of(sender: Sender) -> Answer:
    start, *rest = sender.sent
    assert start["type"] == "http.response.start"
    assert rest
    assert not rest[-1].get("more_body")
    assert all(message.get("more_body") for message in rest[:-1])
    return Answer(
        status=start["status"],
        headers={k.decode().lower(): v.decode() for k, v in start["headers"]},
        body=b"".join(message.get("body", b"") for message in rest),
    )
