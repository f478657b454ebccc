from __future__ import annotations

from django.apps import AppConfig


class AgentRunsConfig(AppConfig):
    name = "agent_runs"
    verbose_name = "Agent runs"

    def ready(self) -> None:
        from agent_runs import checks, handlers, periodic, retention, rules
        from agent_runs.llm_text import TextHandler

        handlers.register(TextHandler())
        periodic.register_own_jobs()
        retention.register_jobs()
        checks.register()
        rules.register()
