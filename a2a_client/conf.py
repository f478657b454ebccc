"""The A2A_CLIENT_* settings, read at call time."""

from __future__ import annotations

from django.conf import settings


def is_enabled() -> bool:
    return bool(settings.A2A_CLIENT_ENABLED)


# For whoever meets the role switched off.
ROLE_IS_OFF = "The client role is off (A2A_CLIENT_ENABLED)."
