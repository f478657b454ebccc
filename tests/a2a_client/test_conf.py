from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from a2a_client import conf

if TYPE_CHECKING:
    from pytest_django.fixtures import SettingsWrapper


@pytest.mark.parametrize("is_on", [True, False])
def test_the_role_is_read_at_call_time(settings: SettingsWrapper, is_on: bool) -> None:
    """C1."""
    settings.A2A_CLIENT_ENABLED = is_on

    assert conf.is_enabled() is is_on
