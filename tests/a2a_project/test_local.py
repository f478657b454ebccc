from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from a2a_project import local
from tests import processes

if TYPE_CHECKING:
    from pathlib import Path

MODELS = (READABLE, WRITABLE) = (
    "AGENT_RUNS_READABLE_MODELS",
    "AGENT_RUNS_WRITABLE_MODELS",
)
ARTICLE = "newsroom.article:title,section,text"


# --- The folder -----------------------------------------------------------------------


def test_makes_a_folder_that_nobody_else_can_read(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "var"

    local.prepare_folder(folder)

    assert folder.stat().st_mode & 0o777 == 0o700


def test_says_why_a_folder_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(local.RunError, match="cannot be used"):
        local.prepare_folder(tmp_path / "file" / "var")


def test_makes_a_secret_once_and_for_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "secret"

    first = local.kept_secret(file, lambda: "first")
    second = local.kept_secret(file, lambda: "second")

    assert (first, second) == ("first", "first")
    assert file.stat().st_mode & 0o777 == 0o600


def test_does_not_go_on_with_an_empty_secret(tmp_path: Path) -> None:
    (tmp_path / "secret").touch()

    with pytest.raises(local.RunError, match="is empty"):
        local.kept_secret(tmp_path / "secret", lambda: "new")


def test_serves_a_folder_once_at_a_time(tmp_path: Path) -> None:
    """O1: a second runner would write into the files of the first."""
    with (
        local.locked(tmp_path, 8123),
        pytest.raises(local.RunError, match=r"is in use: process \d+ .* port 8123\."),
        local.locked(tmp_path, 9000),
    ):
        pytest.fail("locked twice")

    with local.locked(tmp_path, 9000):
        assert "port 9000" in (tmp_path / "lock").read_text()


def test_runs_with_debugging_off_on_loopback_without_services(tmp_path: Path) -> None:
    """O1."""
    settings = local.settings_of(tmp_path, 8123)

    assert settings["DEBUG"] == "off"
    assert settings["A2A_CLIENT_ENABLED"] == "on"
    assert settings["A2A_SERVER_BASE_URLS"].split() == [
        "http://127.0.0.1:8123/a2a",
        "http://localhost:8123/a2a",
    ]
    assert settings["DATABASE_URL"].startswith(f"sqlite:///{tmp_path}")
    assert settings["A2A_REDIS_URL"] == ""


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """One that says nothing about apps and models."""
    for name in ("EXTRA_APPS", *MODELS):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.usefixtures("environment")
def test_brings_the_newsroom_and_its_models(tmp_path: Path) -> None:
    """O1, T5."""
    settings = local.settings_of(tmp_path, 8123)

    assert settings["EXTRA_APPS"] == "a2a_project.newsroom"
    assert settings[READABLE].split() == ["newsroom.section:name", ARTICLE]
    assert settings[WRITABLE].split() == [ARTICLE]


def test_keeps_apps_and_models_that_the_environment_names(
    tmp_path: Path, environment: pytest.MonkeyPatch
) -> None:
    """T5."""
    (tmp_path / "apps").write_text("wordcount, shop\n")
    environment.setenv("EXTRA_APPS_FILE", str(tmp_path / "apps"))
    environment.setenv(READABLE, "shop.order:number Newsroom.Section:id,name")
    environment.setenv(WRITABLE, "shop.order:note")

    settings = local.settings_of(tmp_path, 8123)

    assert settings["EXTRA_APPS"] == "a2a_project.newsroom wordcount shop"
    own = "shop.order:number", "Newsroom.Section:id,name"
    assert settings[READABLE].split() == [ARTICLE, *own]
    assert settings[WRITABLE].split() == [ARTICLE, "shop.order:note"]


@pytest.mark.parametrize(
    "app", ["a2a_project.newsroom", "a2a_project.newsroom.apps.NewsroomConfig"]
)
def test_does_not_name_the_newsroom_twice(
    tmp_path: Path, environment: pytest.MonkeyPatch, app: str
) -> None:
    environment.setenv("EXTRA_APPS", f"wordcount {app}")

    assert local.settings_of(tmp_path, 8123)["EXTRA_APPS"] == f"wordcount {app}"


def test_says_which_file_cannot_be_read(
    tmp_path: Path, environment: pytest.MonkeyPatch
) -> None:
    environment.setenv("EXTRA_APPS_FILE", str(tmp_path / "nowhere"))

    with pytest.raises(local.RunError, match=r"^EXTRA_APPS_FILE cannot be read\.$"):
        local.settings_of(tmp_path, 8123)


# --- Options --------------------------------------------------------------------------


@pytest.mark.parametrize("port", ["0", "65536", "-1", "http", "", "８０"])
def test_refuses_what_is_no_port(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        local.main(["--port", port])

    assert ended.value.code == 2
    assert "a port is a number" in capsys.readouterr().err


# --- Commands -------------------------------------------------------------------------


def _manage(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    argv = (sys.executable, "-m", "a2a_project.local", f"--data-dir={folder}")
    return subprocess.run(
        [*argv, *command],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_command_has_the_settings_of_the_installation(tmp_path: Path) -> None:
    """O1, S20: a token is issued without a variable to set."""
    (tmp_path / local.DATABASE).touch()

    done = [_manage(tmp_path, "migrate", "-v0"), _manage(tmp_path, "seed_demo")]
    issued = _manage(tmp_path, "a2a_client_token", "demo")

    assert [one.returncode for one in (*done, issued)] == [0, 0, 0]
    assert issued.stdout.startswith("a2a_")
    assert len(issued.stdout.split()) == 1
    assert issued.stderr == ""


def test_makes_nothing_where_nothing_was_installed(tmp_path: Path) -> None:
    refused = _manage(tmp_path / "typo", "a2a_client_token", "demo")

    assert refused.returncode == 1
    assert refused.stderr == (
        f"There is no installation in {tmp_path / 'typo'}; make run makes one.\n"
    )
    assert not (tmp_path / "typo").exists()


@pytest.mark.parametrize("module", ["run", "local"])
def test_says_which_variable_names_an_app_that_is_nowhere(
    tmp_path: Path, module: str
) -> None:
    (tmp_path / local.DATABASE).touch()

    ended = subprocess.run(
        [sys.executable, "-m", f"a2a_project.{module}", f"--data-dir={tmp_path}"]
        + [f"--port={processes.free_port()}"]
        + (["migrate"] if module == "local" else []),
        env={"PATH": os.environ["PATH"], "EXTRA_APPS": "wordcuont"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert ended.returncode == 1
    assert ended.stderr.startswith("EXTRA_APPS names wordcuont, and there is no such")
    assert len(ended.stderr.splitlines()) == 1
