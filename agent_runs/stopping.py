"""The process's own «stop»: set once, read everywhere (W6).

The flag lives in shared memory made before any fork, so that a child that executes runs
sees what the main process was told. Setting it takes no lock: it is safe in a signal
handler. Its value is the monotonic moment, which all processes of a host share.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import time

GRACE_SECONDS = 30.0
_NAP_SECONDS = 0.1

_stopped_at = multiprocessing.RawValue(ctypes.c_double, 0.0)


def request_stop() -> None:
    if not _stopped_at.value:
        _stopped_at.value = time.monotonic()


def is_stopping() -> bool:
    return bool(_stopped_at.value)


def wait(seconds: float) -> None:
    """Sleep so long, or until the process is told to stop.

    In short naps: a lock or an event that a signal handler would set could be the very
    one that the interrupted thread holds.
    """
    ends = time.monotonic() + seconds
    while not is_stopping() and (left := ends - time.monotonic()) > 0:
        time.sleep(min(left, _NAP_SECONDS))


def grace_is_over() -> bool:
    stopped_at: float = _stopped_at.value
    return bool(stopped_at) and time.monotonic() - stopped_at >= GRACE_SECONDS


def reset() -> None:
    """Forget the stop; for tests that stop in their own process."""
    _stopped_at.value = 0.0
