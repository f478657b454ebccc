"""The stand that other tests build on, and the real processes' first breath."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.processes import Installation


def test_waits_for_a_line_and_tells_the_exit_code(embedded_site: Installation) -> None:
    process = embedded_site.start("echo", [sys.executable, "-c", "print('here')"])

    line = process.wait_for_line("he.e")

    assert (line, process.wait()) == ("here\n", 0)


def test_fails_when_the_program_ends_without_the_line(
    embedded_site: Installation,
) -> None:
    process = embedded_site.start("echo", [sys.executable, "-c", "print('here')"])

    with pytest.raises(AssertionError, match="never wrote"):
        process.wait_for_line("there")


def test_complains_about_a_program_that_ignores_the_signal(
    embedded_site: Installation,
) -> None:
    code = "import signal; signal.signal(15, signal.SIG_IGN); print(1); signal.pause()"
    argv = [sys.executable, "-c", code]
    process = embedded_site.start("stubborn", argv)
    process.wait_for_line("1")

    with pytest.raises(AssertionError, match="did not end on SIGTERM"):
        process.stop(seconds=0.2)

    assert process.popen.returncode == -signal.SIGKILL


def test_starts_with_a_migrated_database(embedded_site: Installation) -> None:
    assert embedded_site.live_workers() == 0


@pytest.mark.services
def test_runs_web_and_workers_on_postgresql_and_redis(full_site: Installation) -> None:
    full_site.start_web()
    full_site.start_celery_worker()
    full_site.start_periodic_worker()
    full_site.start_beat()
    full_site.start_sweep()

    assert full_site.live_workers() >= 1
