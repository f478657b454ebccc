from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from a2a_project import local
from a2a_project.local import Place
from tests import conftest, make_lines, processes

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
        local.locked(Place(folder=tmp_path, port=8123)),
        pytest.raises(local.RunError, match=r"is in use: process \d+ .* port 8123\."),
        local.locked(Place(folder=tmp_path, port=9000)),
    ):
        pytest.fail("locked twice")

    with local.locked(Place(folder=tmp_path, port=9000)):
        assert "port 9000" in (tmp_path / "lock").read_text()


def test_runs_with_debugging_off_on_loopback_without_services(tmp_path: Path) -> None:
    """O1."""
    settings = local.settings_of(Place(folder=tmp_path, port=8123))

    assert settings["DEBUG"] == "off"
    assert settings["A2A_CLIENT_ENABLED"] == "on"
    assert settings["A2A_SERVER_BASE_URLS"].split() == [
        "http://127.0.0.1:8123/a2a",
        "http://localhost:8123/a2a",
    ]
    assert settings["DATABASE_URL"].startswith(f"sqlite:///{tmp_path}")
    assert settings["A2A_REDIS_URL"] == ""


def test_another_host_leaves_the_usual_one_to_the_installation_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O1, E2: so that each may call the other."""
    monkeypatch.delenv("ALLOWED_HOSTS", raising=False)
    place = Place(folder=tmp_path, host="127.0.0.2", port=8001)

    settings = local.settings_of(place)
    monkeypatch.setenv("ALLOWED_HOSTS", "gateway.example, 127.0.0.2")
    beside_others = local.settings_of(place)

    assert settings["A2A_SERVER_BASE_URLS"] == "http://127.0.0.2:8001/a2a"
    assert settings["ALLOWED_HOSTS"] == "127.0.0.2"
    assert beside_others["ALLOWED_HOSTS"] == "127.0.0.2 gateway.example"
    assert "ALLOWED_HOSTS" not in local.settings_of(Place(folder=tmp_path))


def test_agents_on_loopback_are_called_only_where_it_was_asked_for(
    tmp_path: Path,
) -> None:
    """E4."""
    usual = local.settings_of(Place(folder=tmp_path))
    asked = local.settings_of(Place(folder=tmp_path, calls_loopback=True))

    assert "A2A_EGRESS_ALLOW_LOOPBACK" not in usual
    assert usual["DEBUG"] == "off"
    assert (asked["A2A_EGRESS_ALLOW_LOOPBACK"], asked["DEBUG"]) == ("on", "on")


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """One that says nothing about apps and models."""
    for name in ("EXTRA_APPS", *MODELS):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.usefixtures("environment")
def test_brings_the_newsroom_and_its_models(tmp_path: Path) -> None:
    """O1, T5."""
    settings = local.settings_of(Place(folder=tmp_path, port=8123))

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

    settings = local.settings_of(Place(folder=tmp_path, port=8123))

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

    assert (
        local.settings_of(Place(folder=tmp_path, port=8123))["EXTRA_APPS"]
        == f"wordcount {app}"
    )


def test_says_which_file_cannot_be_read(
    tmp_path: Path, environment: pytest.MonkeyPatch
) -> None:
    environment.setenv("EXTRA_APPS_FILE", str(tmp_path / "nowhere"))

    with pytest.raises(local.RunError, match=r"^EXTRA_APPS_FILE cannot be read\.$"):
        local.settings_of(Place(folder=tmp_path, port=8123))


# --- Options --------------------------------------------------------------------------


def test_a_place_is_what_the_options_say_it_is(tmp_path: Path) -> None:
    usual = local.options("run").parse_args([])
    folder = f"--data-dir={tmp_path}"
    other = local.options("run").parse_args(
        ["--host=127.0.0.2", "--port=8001", folder, "--loopback-agents=on"]
    )

    assert local.place_of(usual) == Place(folder=Path("var").resolve())
    assert local.place_of(other) == Place(
        folder=tmp_path, host="127.0.0.2", port=8001, calls_loopback=True
    )


def test_tells_make_what_is_not_usual() -> None:
    """O1: `make run` and `make manage` mean the same place by it."""
    usual = Place(folder=Path("var").resolve())
    other = Place(
        folder=Path("/my data"), host="127.0.0.2", port=8001, calls_loopback=True
    )

    assert usual.given() == []
    assert shlex.split(" ".join(other.given())) == [
        "HOST=127.0.0.2",
        "PORT=8001",
        "DATA_DIR=/my data",
        "LOOPBACK_AGENTS=on",
    ]


@pytest.mark.parametrize("target", ["run", "manage"])
@pytest.mark.parametrize(
    "place",
    [
        Place(folder=Path("var").resolve()),
        Place(
            folder=Path("/my data"), host="127.0.0.2", port=8001, calls_loopback=True
        ),
    ],
    ids=["usual", "other"],
)
def test_make_passes_on_what_it_is_told(place: Place, target: str) -> None:
    """O1: a HOST of the environment is the machine's name, which some shells put there."""
    if not shutil.which("make"):
        conftest.missing_service("make is not installed.")
    line = " ".join(["make", target, *place.given()])

    words = make_lines.argv(line, HOST="desk.example", LOOPBACK_AGENTS="on")

    assert words[2] == {"run": "a2a_project.run", "manage": "a2a_project.local"}[target]
    given = local.options(target).parse_args(words[3:])
    assert local.place_of(given) == place


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "127.255.255.254"])
def test_takes_an_address_of_loopback(host: str) -> None:
    assert local.options("run").parse_args(["--host", host]).host == host


@pytest.mark.parametrize(
    "host",
    [
        # Everybody, the addresses beside loopback, a neighbor, one of the internet.
        *("0.0.0.0", "126.255.255.255", "128.0.0.0", "192.168.0.1", "8.8.8.8"),  # noqa: S104
        # Names, IPv6, and other ways to write the address.
        *("localhost", "::1", "::ffff:127.0.0.1", "127.1", "0177.0.0.1", "2130706433"),
        *("", " 127.0.0.1", "127.0.0.1:80", "１27.0.0.1", "gateway.example"),
    ],
)
def test_refuses_to_serve_anybody_else(
    host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """O1."""
    with pytest.raises(SystemExit) as ended:
        local.main(["--host", host])

    assert ended.value.code == 2
    assert "a host is an address of this machine alone" in capsys.readouterr().err


def test_refuses_a_switch_that_is_neither_on_nor_off(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        local.main(["--loopback-agents", "maybe"])

    assert "it is on or off" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["0", "65536", "-1", "http", "", "８０"])
def test_refuses_what_is_no_port(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        local.main(["--port", port])

    assert ended.value.code == 2
    assert "a port is a number" in capsys.readouterr().err


# --- Commands -------------------------------------------------------------------------


def _manage(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    argv = (sys.executable, "-m", "a2a_project.local", f"--data-dir={folder}")
    return subprocess.run(
        [*argv, *arguments],
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


@pytest.mark.parametrize("switch", ["on", "off"])
def test_a_command_may_call_loopback_where_the_runs_may(
    tmp_path: Path, switch: str
) -> None:
    """E4: and its checks find nothing wrong with it."""
    (tmp_path / local.DATABASE).touch()
    code = (
        "from agent_runs import outbound;"
        "print(outbound.policy_for('a2a_remote_agent').allow_loopback)"
    )

    done = _manage(
        tmp_path, f"--loopback-agents={switch}", "shell", "--no-imports", "-c", code
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == [str(switch == "on")]


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
