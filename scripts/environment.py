"""Makes or refreshes the virtual environment of the Makefile's targets.

    python3 scripts/environment.py .venv run|dev|browser

Installs what pyproject.toml names in the versions of constraints.txt, and does nothing
when neither file changed since: `dev` adds the development group, `browser` that group
and the browser's driver. The project itself is not installed: it runs from the checkout.
Needs the standard library only; the Makefile has made sure of Python's version.
"""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = ROOT / "pyproject.toml"
CONSTRAINTS = ROOT / "constraints.txt"
GROUPS = {"run": (), "dev": ("dev",), "browser": ("dev", "browser")}


def main(folder: Path, kind: str) -> None:
    python = folder / "bin" / "python"
    stamp = folder / f"installed-{kind}"
    wanted = digest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    if not python.exists():
        create(folder)
    sys.stderr.write(f"Installing dependencies into {folder} …\n")
    install(python, requirements(kind))
    stamp.write_text(wanted)


def digest() -> str:
    sources = (sys.version.encode(), PROJECT.read_bytes(), CONSTRAINTS.read_bytes())
    return hashlib.sha256(b"\n".join(sources)).hexdigest()


def create(folder: Path) -> None:
    # Debian ships venv without the part that puts pip into it.
    if importlib.util.find_spec("ensurepip") is None:
        sys.exit(
            f"{sys.executable} cannot make virtual environments. On Debian and Ubuntu: "
            "apt install python3-venv"
        )
    venv.create(folder, with_pip=True, clear=True, symlinks=True)


def requirements(kind: str) -> list[str]:
    declared = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    wanted: list[str] = list(declared["project"]["dependencies"])
    for group in GROUPS[kind]:
        wanted += declared["dependency-groups"][group]
    return wanted


def install(python: Path, packages: list[str]) -> None:
    options = ["-qq", "--disable-pip-version-check", f"--constraint={CONSTRAINTS}"]
    command = [str(python), "-m", "pip", "install", *options, *packages]
    if subprocess.run(command, check=False).returncode:
        sys.exit("The dependencies could not be installed; pip says why above.")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
