from __future__ import annotations

from django.apps import AppConfig


class A2AServerConfig(AppConfig):
    name = "a2a_server"
    verbose_name = "A2A server"

    def ready(self) -> None:
        from a2a_server import (
            checks,
            clients,
            counters,
            offers,
            preconditions,
            projection,
            rules,
            run_descriptions,
            tool_audience,
        )
        from agent_runs import registries, signals

        checks.register()
        rules.register()
        offers.register()
        signals.run_changed.connect(projection.project, dispatch_uid="a2a_server")
        registries.register_segment_guard(preconditions.segment_problem)
        registries.register_purger(counters.forget_runs)
        registries.register_run_filter("client", clients.runs_of)
        registries.register_run_describer(run_descriptions.of_runs)
        tool_audience.register()
