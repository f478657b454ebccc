from __future__ import annotations

from django.apps import AppConfig


class AgentRunsConfig(AppConfig):
    name = "agent_runs"
    verbose_name = "Agent runs"

    def ready(self) -> None:
        from django.db.models.signals import pre_migrate

        from agent_runs import checks, handlers, periodic, retention, rules, store
        from agent_runs.llm_text import TextHandler
        from agent_runs.offline import delegating, scripts
        from agent_runs.tools import builtin, registry

        handlers.register(TextHandler())
        scripts.register(delegating.NAME, delegating.delegate)
        registry.register_provider(builtin.tools)
        periodic.register_own_jobs()
        retention.register_jobs()
        checks.register()
        rules.register()
        pre_migrate.connect(store.let_statements_take_long, sender=self)
