from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.core import checks as django_checks

from a2a_client import checks

if TYPE_CHECKING:
    from pytest_django.fixtures import SettingsWrapper


def test_the_settings_of_the_tests_are_right() -> None:
    assert checks.check_encryption(None) == []


def test_warns_of_credentials_under_a_key_that_stands_in(
    settings: SettingsWrapper,
) -> None:
    """O3."""
    settings.DEBUG, settings.A2A_ENCRYPTION_KEYS = True, []

    found = django_checks.run_checks(tags=["a2a_client"])

    assert [(message.id, bool(message.hint)) for message in found] == [
        ("a2a_client.W001", True)
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("A2A_CLIENT_ENABLED", False, id="role-off"),
        pytest.param("A2A_ENCRYPTION_KEYS", ["key"], id="a-key"),
        # An error of its own: agent_runs.E001.
        pytest.param("DEBUG", False, id="no-debugging"),
    ],
)
def test_is_silent_otherwise(
    settings: SettingsWrapper, name: str, value: object
) -> None:
    settings.DEBUG, settings.A2A_ENCRYPTION_KEYS = True, []
    setattr(settings, name, value)

    assert checks.check_encryption(None) == []
