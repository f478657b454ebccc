from __future__ import annotations

from django.apps import AppConfig


class NewsroomConfig(AppConfig):
    name = "a2a_project.newsroom"
    verbose_name = "Newsroom (demonstration)"
