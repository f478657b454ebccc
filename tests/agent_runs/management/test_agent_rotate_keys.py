from __future__ import annotations

import json
from io import StringIO
from typing import TYPE_CHECKING

import pytest
from cryptography.fernet import Fernet
from django.core.management import call_command
from django.db import OperationalError, connection

from agent_runs.management.command import ExitError
from agent_runs.models import Provider
from tests import factories

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

pytestmark = pytest.mark.django_db

OLD, NEW = (Fernet.generate_key().decode() for _ in range(2))


@pytest.fixture
def provider(settings: Settings) -> Provider:
    """Its key was stored before the new encryption key came."""
    settings.A2A_ENCRYPTION_KEYS = [OLD]
    provider = factories.make_provider(api_key="my-secret")
    settings.A2A_ENCRYPTION_KEYS = [NEW, OLD]
    return provider


def rotate(*arguments: str) -> str:
    out = StringIO()
    call_command("agent_rotate_keys", *arguments, stdout=out)
    return out.getvalue()


def test_re_encrypts_and_says_how_much(provider: Provider, settings: Settings) -> None:
    """R17."""
    out = rotate()

    settings.A2A_ENCRYPTION_KEYS = [NEW]
    assert Provider.objects.get(pk=provider.pk).api_key == "my-secret"
    assert "agent_runs_provider.api_key: 1 re-encrypted, 0 current." in out
    assert "my-secret" not in out


def test_tells_machines(provider: Provider) -> None:
    document = json.loads(rotate("--json"))

    assert document["unreadable"] == 0
    assert {
        "column": "agent_runs_provider.api_key",
        "rotated": 1,
        "current": 0,
        "changed_meanwhile": 0,
        "unreadable": 0,
    } in document["columns"]


def test_a_missing_key_is_a_sentence(
    provider: Provider, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """W8: exit 1, and what to do."""
    settings.A2A_ENCRYPTION_KEYS = [NEW]

    with pytest.raises(ExitError, match="1 values open with none") as raised:
        call_command("agent_rotate_keys")

    assert raised.value.returncode == 1
    assert "agent_runs_provider.api_key: 0 re-encrypted, 0 current, 1 do not open." in (
        capsys.readouterr().out
    )


def test_no_key_at_all_is_a_sentence(provider: Provider, settings: Settings) -> None:
    settings.A2A_ENCRYPTION_KEYS = []

    with pytest.raises(ExitError, match="A2A_ENCRYPTION_KEYS is empty"):
        rotate()


def test_a_bad_option_exits_with_2() -> None:
    """W8."""
    with pytest.raises(SystemExit) as raised:
        rotate("--everything")

    assert raised.value.code == 2


def test_a_store_that_is_away_is_a_sentence() -> None:
    """W8: exit 1, no traceback, nothing of the driver's text."""

    def away(*args: object) -> None:
        raise OperationalError("server at 10.0.0.1")

    with (
        connection.execute_wrapper(away),
        pytest.raises(ExitError, match=r"^The database cannot be used\.$") as raised,
    ):
        rotate()
    assert raised.value.returncode == 1
