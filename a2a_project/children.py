"""Child processes of the local runner: started, watched and ended together."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Awaitable, Sequence
    from pathlib import Path

# A worker may use its whole grace period (30 s) for the run it executes.
STOP_SECONDS = 40.0
_LAST_LINES = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    name: str
    log: Path
    log_start: int
    """How long the log was before this process wrote to it, in bytes."""
    process: Process

    def signal(self, number: int) -> None:
        if self.process.returncode is None:
            self.process.send_signal(number)

    def last_lines(self) -> str:
        with self.log.open("rb") as file:
            file.seek(self.log_start)
            lines = file.read().decode(errors="replace").splitlines()
        return "\n".join(lines[-_LAST_LINES:])


async def start(
    name: str, argv: Sequence[str], folder: Path, environment: dict[str, str]
) -> Child:
    log = folder / f"{name}.log"
    with log.open("ab") as file:
        log_start = file.tell()
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env=environment,
            # Ctrl-C reaches this process alone, which then stops them in order.
            start_new_session=True,
        )
    return Child(name=name, log=log, log_start=log_start, process=process)


async def stop(children: Sequence[Child], hurry: asyncio.Event) -> None:
    """End them all; those that do not end in time, or when it hurries, are killed."""
    for child in children:
        child.signal(signal.SIGTERM)
    ended = asyncio.gather(*(child.process.wait() for child in children))
    with contextlib.suppress(TimeoutError):
        await first_of(ended, hurry.wait(), seconds=STOP_SECONDS)
    for child in children:
        child.signal(signal.SIGKILL)
        await child.process.wait()


async def first_of(*events: Awaitable[object], seconds: float | None = None) -> int:
    """Which of the events came first; raise TimeoutError when none did in time."""
    tasks = [asyncio.ensure_future(event) for event in events]
    done, pending = await asyncio.wait(
        tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
    )
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    if not done:
        raise TimeoutError
    for task in done:
        task.result()
    return min(tasks.index(task) for task in done)
