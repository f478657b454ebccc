from __future__ import annotations

from django.apps import AppConfig


class NewsroomConfig(AppConfig):
    name = "a2a_project.newsroom"
    verbose_name = "Newsroom (demonstration)"

    def ready(self) -> None:
        from a2a_project.newsroom import chapter, drafting
        from a2a_server import demo
        from agent_runs.offline import scripts

        scripts.register(drafting.NAME, drafting.write)
        demo.register(chapter.seed)
