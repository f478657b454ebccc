"""What all web processes of an installation share besides its tasks."""

from __future__ import annotations

import uuid

from django.db import models


class AuthFailure(models.Model):
    """Failed authentications per address, where there is no Redis (S23)."""

    address = models.CharField(max_length=64, primary_key=True)
    count = models.PositiveIntegerField(default=0)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.address


class WaitingSlot(models.Model):
    """One waiting request, where there is no Redis (S46)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    client_id = models.BigIntegerField(db_index=True)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"Waiting request of {self.client_id}"


class ServedCard(models.Model):
    """Since when a card's content is served; `key` names which card (S8)."""

    key = models.CharField(max_length=200, primary_key=True)
    content_hash = models.CharField(max_length=64)
    since = models.DateTimeField()

    def __str__(self) -> str:
        return self.key
