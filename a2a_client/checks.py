"""System checks of the client role, each with a hint (O3).

What may be reached is said by the A2A_EGRESS_* settings, which are checked whether the
role is on or off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core import checks

from a2a_client import conf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.apps import AppConfig
    from django.core.checks import CheckMessage


def register() -> None:
    checks.register(check_encryption, "a2a_client")


def check_encryption(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[CheckMessage]:
    """Without DEBUG a missing key is an error for everybody (agent_runs.E001)."""
    if not conf.is_enabled() or settings.A2A_ENCRYPTION_KEYS or not settings.DEBUG:
        return []
    return [
        checks.Warning(
            "A2A_CLIENT_ENABLED is on, and credentials of remote agents are encrypted "
            "with a key that is made from SECRET_KEY.",
            hint="Set A2A_ENCRYPTION_KEYS before you enter credentials: they cannot be "
            "read with another key.",
            id="a2a_client.W001",
        )
    ]
