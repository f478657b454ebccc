"""A Django app that only installations under test load (`EXTRA_APPS`)."""

from __future__ import annotations

from django.apps import AppConfig


class DrillConfig(AppConfig):
    name = "tests.drill"

    def ready(self) -> None:
        from agent_runs import handlers
        from tests.drill.handlers import HANDLERS

        for handler in HANDLERS:
            handlers.register(handler)
