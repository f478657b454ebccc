from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "environment.py"


@pytest.fixture
def installer(tmp_path: Path) -> Path:
    """An environment whose Python only notes what it is told to install."""
    told = tmp_path / "told"
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {told}\n')
    python.chmod(0o755)
    return told


def _prepare(kind: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), str(folder / "venv"), kind],
        capture_output=True,
        text=True,
        check=True,
    )


def test_installs_what_running_needs_in_the_versions_that_were_tried(
    installer: Path, tmp_path: Path
) -> None:
    _prepare("run", tmp_path)

    told = installer.read_text().splitlines()
    assert f"--constraint={ROOT / 'constraints.txt'}" in told
    assert any(word.startswith("django>=") for word in told)
    assert not any(word.startswith("pytest") for word in told)


def test_installs_more_for_development(installer: Path, tmp_path: Path) -> None:
    _prepare("dev", tmp_path)

    assert any(word.startswith("pytest>=") for word in installer.read_text().split())


def test_installs_once_until_something_changes(installer: Path, tmp_path: Path) -> None:
    _prepare("run", tmp_path)
    first = installer.read_text()

    _prepare("run", tmp_path)

    assert installer.read_text() == first


def test_every_dependency_has_a_version_that_was_tried() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = declared["project"]["dependencies"] + declared["dependency-groups"]["dev"]
    tried = {
        line.partition("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    }

    names = {word.partition(">")[0].partition("[")[0].lower() for word in wanted}
    assert names - tried == set()


def test_an_old_python_gets_a_sentence(tmp_path: Path) -> None:
    """O1."""
    old = tmp_path / "python"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)

    done = subprocess.run(
        ["make", "-C", str(ROOT), "run", f"PYTHON={old}", f"VENV={tmp_path}/none"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"]},
    )

    assert done.returncode == 2
    assert "Python 3.11 or newer is needed" in done.stderr
