"""What the papers say is compared with what is there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import a2a_project
from a2a_project import launch

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
_READER = re.compile(r'env\.\w+\(\s*"([A-Z0-9_]+)"')
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)


def _read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_setting_is_documented_and_no_other() -> None:
    """O3."""
    read = set(_READER.findall(_read("a2a_project/settings.py")))

    documented = set(re.findall(r"^\| `([A-Z0-9_]+)`", _read("docs/settings.md"), re.M))

    assert documented == read


def test_the_changelog_has_a_place_for_this_version() -> None:
    headings = re.findall(r"^## \[([^\]]+)\]", _read("CHANGELOG.md"), re.M)

    assert headings[0] == "Unreleased"
    assert a2a_project.__version__ in headings


def _anchor(heading: str) -> str:
    """As the usual renderers make it from a heading."""
    text = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return text.replace(" ", "-")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    broken = []
    for link in _LINK.findall(document.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = document.parent / name if name else document
        if not target.exists():
            broken.append(link)
        elif anchor:
            headings = _HEADING.findall(target.read_text(encoding="utf-8"))
            if anchor not in map(_anchor, headings):
                broken.append(link)

    assert broken == []


@pytest.mark.parametrize("name", ["Dockerfile", "docs/operations.md"])
def test_web_processes_are_started_with_the_same_options_everywhere(name: str) -> None:
    """S24."""
    text = re.sub(r"[\\\"',\[\]]", " ", _read(name))

    words = set(shlex.split(text.replace("`", " "), comments=False))

    assert set(launch.WEB_OPTIONS) <= words


def test_the_readme_names_commands_that_exist() -> None:
    makefile = _read("Makefile")

    targets = set(re.findall(r"(?:^    |`)make ([a-z]+)", _read("README.md"), re.M))

    assert targets
    for target in targets:
        assert f"\n{target}:" in makefile
