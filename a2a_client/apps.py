from __future__ import annotations

from django.apps import AppConfig


class A2AClientConfig(AppConfig):
    name = "a2a_client"
    verbose_name = "A2A client"

    def ready(self) -> None:
        from a2a_client import checks, rules

        checks.register()
        rules.register()
