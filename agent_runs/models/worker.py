"""Who executes runs, and when the periodic jobs are due (W1–W3)."""

from __future__ import annotations

from django.db import models


class Transport(models.TextChoices):
    CELERY = "celery", "Celery worker"
    SWEEP = "sweep", "Sweep (agent_work)"


class WorkerHeartbeat(models.Model):
    worker_id = models.CharField(max_length=32, primary_key=True)
    transport = models.CharField(max_length=16, choices=Transport)
    queues = models.CharField(max_length=200, blank=True)
    last_seen_at = models.DateTimeField()
    started_at = models.DateTimeField()
    version = models.CharField(max_length=50)
    concurrency = models.PositiveIntegerField(default=1)

    class Meta:
        verbose_name = "worker"
        indexes = [
            models.Index(
                fields=["transport", "last_seen_at"], name="workerheartbeat_seen"
            )
        ]

    def __str__(self) -> str:
        return f"{self.get_transport_display()} {self.worker_id[:8]}"


class PeriodicJobState(models.Model):
    """When a periodic job may run next; whoever moves `next_at` first runs it."""

    name = models.CharField(max_length=64, primary_key=True)
    next_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
