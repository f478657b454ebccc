from __future__ import annotations

from django.apps import AppConfig


class RewritingConfig(AppConfig):
    name = "tests.browser.rewriting"

    def ready(self) -> None:
        from a2a_server import demo
        from agent_runs.offline import scripts
        from tests.browser.rewriting import chapter, script

        scripts.register(script.NAME, script.rewrite)
        demo.register(chapter.seed)
