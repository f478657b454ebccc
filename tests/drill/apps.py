"""A Django app that only installations under test load (`EXTRA_APPS`)."""

from __future__ import annotations

import os

from django.apps import AppConfig


class DrillConfig(AppConfig):
    name = "tests.drill"

    def ready(self) -> None:
        from agent_runs import handlers
        from agent_runs.offline import scripts as offline
        from agent_runs.tools import registry
        from tests.drill import points, scripts, tools
        from tests.drill.handlers import HANDLERS

        for handler in HANDLERS:
            handlers.register(handler)
        for name, script in scripts.SCRIPTS.items():
            offline.register(name, script)
        registry.register_provider(tools.provide)
        if "DRILL_POINTS" in os.environ:
            points.install()
