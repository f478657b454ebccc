from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from django.core.management import CommandError, call_command

from a2a_server import demo

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django.fixtures import Settings

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_folder(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    settings.A2A_SERVER_BASE_URLS = ["https://gateway.example/a2a"]


def test_prints_what_it_keeps(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("seed_demo", "--json")

    assert json.loads(capsys.readouterr().out) == json.loads(demo.file().read_text())


def test_tells_people_where_to_go(
    capsys: pytest.CaptureFixture[str],
) -> None:
    call_command("seed_demo")

    printed = capsys.readouterr().out
    assert "https://gateway.example/admin/" in printed
    assert demo.seed().token in printed


def test_says_that_it_cannot_write(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    settings.DATA_DIR = tmp_path / "file"

    with pytest.raises(CommandError, match="cannot be written"):
        call_command("seed_demo")
