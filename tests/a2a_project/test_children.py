from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from a2a_project import children

if TYPE_CHECKING:
    from pathlib import Path

_SLEEPS = "import signal; print('up', flush=True); signal.pause()"
_STUBBORN = f"import signal; signal.signal(15, signal.SIG_IGN); {_SLEEPS}"


async def _start(code: str, folder: Path) -> children.Child:
    argv = (sys.executable, "-c", code)
    return await children.start("program", argv, folder, dict(os.environ))


async def _is_up(child: children.Child) -> None:
    while "up" not in child.last_lines():
        await asyncio.sleep(0.01)


async def test_tells_which_event_came_first() -> None:
    event = asyncio.Event()
    event.set()

    first = await children.first_of(asyncio.sleep(60), event.wait())

    assert first == 1


async def test_raises_when_the_time_is_over() -> None:
    with pytest.raises(TimeoutError):
        await children.first_of(asyncio.sleep(60), seconds=0.01)


async def test_ends_a_child_with_sigterm(tmp_path: Path) -> None:
    child = await _start(_SLEEPS, tmp_path)
    await _is_up(child)

    await children.stop([child], asyncio.Event())

    assert child.process.returncode == -signal.SIGTERM


async def test_kills_what_does_not_end_when_it_hurries(tmp_path: Path) -> None:
    child = await _start(_STUBBORN, tmp_path)
    await _is_up(child)
    hurry = asyncio.Event()
    hurry.set()

    await children.stop([child], hurry)

    assert child.process.returncode == -signal.SIGKILL


async def test_leaves_a_child_alone_that_ended_by_itself(tmp_path: Path) -> None:
    child = await _start("raise SystemExit(3)", tmp_path)
    await child.process.wait()

    await children.stop([child], asyncio.Event())

    assert child.process.returncode == 3


async def test_keeps_what_a_child_said_last(tmp_path: Path) -> None:
    child = await _start("print(*range(30), sep='\\n')", tmp_path)
    await child.process.wait()

    assert child.last_lines().splitlines() == [str(n) for n in range(15, 30)]


async def test_keeps_the_log_of_an_earlier_run_and_does_not_quote_it(
    tmp_path: Path,
) -> None:
    for word in ("first", "second"):
        child = await _start(f"print('{word}')", tmp_path)
        await child.process.wait()

    assert child.log.read_text() == "first\nsecond\n"
    assert child.last_lines() == "second"
