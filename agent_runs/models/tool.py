"""What an administrator says about a tool; what it does is its code's word (T1, T2)."""

from __future__ import annotations

from django.db import models


class ToolSetting(models.Model):
    """Overrides of what a tool declares. Empty: as declared.

    A row may outlive its tool: where a package is installed again, its tools are as they
    were set.
    """

    name = models.CharField(max_length=64, unique=True, editable=False)
    enabled = models.BooleanField(null=True, blank=True)
    requires_approval = models.BooleanField(null=True, blank=True)

    class Meta:
        verbose_name = "tool"

    def __str__(self) -> str:
        return self.name
