from __future__ import annotations

from django.apps import AppConfig


class A2AClientConfig(AppConfig):
    name = "a2a_client"
    verbose_name = "A2A client"

    def ready(self) -> None:
        from a2a_client import checks, handovers, polling, rules, tool
        from agent_runs import registries
        from agent_runs.tools import registry

        checks.register()
        rules.register()
        registry.register_provider(tool.tools)
        polling.register_jobs()
        registries.register_handovers(handovers.of_run)
