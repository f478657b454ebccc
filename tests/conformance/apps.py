"""A Django app that only the conformance stand loads (`EXTRA_APPS`)."""

from __future__ import annotations

from django.apps import AppConfig


class ConformanceConfig(AppConfig):
    name = "tests.conformance"

    def ready(self) -> None:
        from agent_runs import handlers
        from tests.conformance.handlers import StandHandler

        handlers.register(StandHandler())
