"""The Celery application. Every Django process loads it, so that nudges find the broker.

What a worker does besides its tasks (`agent_runs.celery_worker`) imports models. It is
installed when a worker starts: by then Celery has set Django up.
"""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import celeryd_init

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "a2a_project.settings")

app = Celery("a2a_project")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


def _install_worker(**_: Any) -> None:
    from agent_runs import celery_worker

    celery_worker.install(app)


celeryd_init.connect(_install_worker, weak=False)
