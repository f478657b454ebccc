"""Wiring: settings, addresses, the web and Celery applications, the local runner."""

from __future__ import annotations

from a2a_project.celery import app as celery_app

__all__ = ["celery_app"]
__version__ = "0.1.0"
