"""Rules of the house that no linter knows."""

from __future__ import annotations

import io
import re
from collections import Counter
from pathlib import Path

import pytest
from django.core.management import call_command

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    "a2a_client",
    "a2a_project",
    "a2a_protocol",
    "a2a_server",
    "agent_runs",
    "egress",
)
MODULES = sorted(
    path
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
    if "migrations" not in path.parts
)
_BANNED = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc"}
_LONGEST_MODULE = 400


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.django_db
def test_models_and_migrations_agree() -> None:
    output = io.StringIO()

    try:
        call_command("makemigrations", "--check", "--dry-run", stdout=output)
    except SystemExit:
        pytest.fail(output.getvalue())


@pytest.mark.parametrize("package", PACKAGES)
def test_no_two_migrations_have_a_number(package: str) -> None:
    files = (ROOT / package).rglob("migrations/[0-9]*.py")

    numbers = Counter((file.parent, file.name[:4]) for file in files)

    assert [number for number, count in numbers.items() if count > 1] == []


def test_names_say_what_is_inside() -> None:
    parts = {(part, _name(path)) for path in MODULES for part in path.parts}

    assert [name for part, name in parts if part.removesuffix(".py") in _BANNED] == []


def test_modules_stay_readable() -> None:
    lengths = {_name(path): len(path.read_text().splitlines()) for path in MODULES}

    assert {name: n for name, n in lengths.items() if n > _LONGEST_MODULE} == {}


def test_every_module_says_why_it_exists() -> None:
    silent = [
        _name(path)
        for path in MODULES
        if path.stem not in {"__init__", "apps", "urls"}
        and not path.read_text().startswith(('"""', "from __future__"))
    ]

    assert silent == []


def test_only_settings_read_the_environment() -> None:
    reading = re.compile(r"os\.(environ\[|environ\.get|getenv)")

    readers = {_name(p) for p in MODULES if reading.search(p.read_text())}

    assert readers == {"a2a_project/environment.py"}


def test_nobody_asks_the_host_for_the_time() -> None:
    """R9: `clock.database_now` for what is stored, monotonic clocks for durations."""
    # A model's answer carries its moment, which nothing compares.
    allowed = {"agent_runs/llm_offline.py"}
    asking = re.compile(
        r"datetime\.now\(|datetime\.utcnow\(|timezone\.now\(|\btime\.time\("
    )

    asked = {_name(path) for path in MODULES if asking.search(path.read_text())}
    assert asked - allowed == set()


def test_every_module_has_its_test_file() -> None:
    tests = {path.stem for path in (ROOT / "tests").rglob("test_*.py")}
    # Records, wire types and declarations, which are tested with what uses them.
    folders = {"models", "types", "admin"}
    names = {"__init__", "api", "apps", "asgi_types", "calls", "command", "request_id"}
    names |= {"formats", "signals", "urls"}
    # Tested with the operations that they are parts of.
    names |= {"messages", "own_tasks", "pagination"}

    missing = [
        _name(path)
        for path in MODULES
        if f"test_{path.stem}" not in tests
        and path.stem not in names
        and folders.isdisjoint(path.parts)
    ]

    assert missing == []
