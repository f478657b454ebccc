"""`manage.py agent_work`: one tick of the sweep, or with `--loop` the embedded worker."""

from __future__ import annotations

import json
import logging
import signal
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import Error as DatabaseError

from agent_runs import llm, stopping, sweep, workers
from agent_runs.management.command import ExitCommand, ExitError, bounded
from agent_runs.models.worker import Transport
from agent_runs.store import look_after_connection

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from types import FrameType

logger = logging.getLogger(__name__)


class Command(ExitCommand):
    help = (
        "Runs the periodic jobs and the runs that are due. Once, or with --loop until "
        "it is stopped; SIGTERM lets the current segment finish or releases it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--loop", action="store_true", help="go on until stopped")
        parser.add_argument(
            "--interval",
            type=bounded(float, 0.05, 3600),
            default=1.0,
            help="seconds between ticks that found nothing (1)",
        )
        parser.add_argument(
            "--limit",
            type=bounded(int, 0, 100_000),
            default=10,
            help="runs a tick at the most; 0: periodic jobs only (10)",
        )
        parser.add_argument(
            "--max-seconds",
            type=bounded(float, 0, 86_400),
            default=50.0,
            help="start no further run of a tick after so long (50)",
        )
        parser.add_argument("--json", action="store_true", help="print for machines")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["loop"]:
            self._listen()
        llm.warm_up()
        try:
            self._announce()
            self._tick(options)
            while options["loop"] and not stopping.is_stopping():
                # Where there was work there may be more; an idle loop waits.
                if not self._has_worked:
                    stopping.wait(options["interval"])
                self._tick_again(options)
        except DatabaseError as error:
            raise ExitError("The database cannot be used.", code=1) from error
        finally:
            self._withdraw(options)

    def _listen(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    @staticmethod
    def _on_signal(number: int, frame: FrameType | None) -> None:
        stopping.request_stop()

    @staticmethod
    def _announce() -> None:
        identity = workers.Identity(
            transport=Transport.SWEEP, queues=(), version=settings.A2A_VERSION
        )
        workers.announce(identity)

    def _tick(self, options: dict[str, Any]) -> None:
        tick = sweep.run_tick(
            limit=options["limit"], max_seconds=options["max_seconds"]
        )
        self._has_worked = tick.runs > 0
        self._print(tick, options)

    def _tick_again(self, options: dict[str, Any]) -> None:
        """Within the loop a store that is away is waited for, not died of."""
        self._has_worked = False
        look_after_connection()
        try:
            self._tick(options)
        except DatabaseError:
            logger.exception("tick failed: the database cannot be used")

    def _print(self, tick: sweep.Tick, options: dict[str, Any]) -> None:
        if options["json"]:
            self.stdout.write(json.dumps({"jobs": tick.jobs, "runs": tick.runs}))
        elif not options["loop"]:
            self.stdout.write(f"{tick.runs} runs, {tick.jobs} periodic jobs.")

    def _withdraw(self, options: dict[str, Any]) -> None:
        # One tick from cron counts for two minutes; a loop that ends is gone at once.
        if options["loop"]:
            try:
                workers.withdraw()
            except DatabaseError:
                logger.warning("the heartbeat could not be taken away")
