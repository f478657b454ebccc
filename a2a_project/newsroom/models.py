"""What the demonstration's newsroom publishes.

An app as any installation may have one: it knows nothing of runs, drafts or clients.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Section(models.Model):
    name = models.CharField(max_length=60, unique=True)

    # Named, since type checkers read settings that do not install this app.
    objects: ClassVar[models.Manager[Section]] = models.Manager()

    def __str__(self) -> str:
        return self.name


class Article(models.Model):
    """Every article that there is, is live."""

    title = models.CharField(max_length=120)
    section = models.ForeignKey(
        Section, on_delete=models.PROTECT, related_name="articles"
    )
    text = models.TextField()
    changed_at = models.DateTimeField("last change", auto_now=True)

    objects: ClassVar[models.Manager[Article]] = models.Manager()

    def __str__(self) -> str:
        return self.title
