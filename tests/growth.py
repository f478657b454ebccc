"""How a function's time grows with its input: a ratio of two measurements of one run."""

from __future__ import annotations

import gc
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TIMES = 10
# Quadratic growth is a hundredfold, and no machine is so busy that linear growth is.
_AT_MOST = 3.5 * TIMES
# Below this the clock and the caches decide.
_LEAST_SECONDS = 0.001


def is_linear(work: Callable[[str], object], text: str) -> bool:
    """Whether ten times `text` takes about ten times as long, not a hundred."""
    short = max(_seconds(work, text), _LEAST_SECONDS)
    return _seconds(work, text * TIMES) <= _AT_MOST * short


def _seconds(work: Callable[[str], object], text: str) -> float:
    """CPU time of this thread: the best of three, for what else runs only adds to it."""
    with _without_collection():
        return min(_once(work, text) for _ in range(3))


def _once(work: Callable[[str], object], text: str) -> float:
    started = time.thread_time()
    work(text)
    return time.thread_time() - started


@contextmanager
def _without_collection() -> Iterator[None]:
    """A collection visits everything that a test run holds, whatever is measured."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
