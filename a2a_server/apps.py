from __future__ import annotations

from django.apps import AppConfig


class A2AServerConfig(AppConfig):
    name = "a2a_server"
    verbose_name = "A2A server"

    def ready(self) -> None:
        from a2a_server import offers, rules

        rules.register()
        offers.register()
