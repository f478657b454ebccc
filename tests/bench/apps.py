"""A Django app that only the bench's own installation loads (`EXTRA_APPS`)."""

from __future__ import annotations

from django.apps import AppConfig


class BenchConfig(AppConfig):
    name = "tests.bench"
