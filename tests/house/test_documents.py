"""What the papers say is compared with what is there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import a2a_project
from a2a_project import launch
from a2a_server.errors import REASONS, Reason
from a2a_server.operations.table import OPERATIONS

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
# A client alone can be told these, or a capability that is off comes first.
_NEVER_SAID = {
    Reason.INVALID_AGENT_RESPONSE,
    Reason.EXTENDED_AGENT_CARD_NOT_CONFIGURED,
}
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


_WORKERS = {
    "worker": launch.celery_worker(),
    "jobs": launch.celery_periodic_worker(),
    "beat": launch.celery_beat("FILE"),
}


@pytest.mark.parametrize("worker", _WORKERS)
@pytest.mark.parametrize("name", ["compose.yaml", "docs/operations.md"])
def test_workers_are_started_with_the_same_options_everywhere(
    name: str, worker: str
) -> None:
    """W6."""
    lines = _read(name).replace("\\\n", " ").splitlines()

    commands = [set(line.split()) for line in lines if " -m celery " in line]

    # Where beat keeps its schedule is each installation's own.
    options = {o for o in _WORKERS[worker][2:] if not o.startswith("--schedule=")}
    assert any(options <= command for command in commands)


def test_the_readme_names_commands_that_exist() -> None:
    makefile = _read("Makefile")

    targets = set(re.findall(r"(?:^    |`)make ([a-z]+)", _read("README.md"), re.M))

    assert targets
    for target in targets:
        assert f"\n{target}:" in makefile


def test_the_clients_guide_says_what_the_table_of_reasons_says() -> None:
    """S14, S90."""
    rows = re.findall(
        r"^\| ([A-Z_, ]+) \| (-32\d{3}) \| (\d{3})\D", _read("docs/clients.md"), re.M
    )
    said = {
        name: (int(code), int(status))
        for names, code, status in rows
        for name in names.split(", ")
    }

    meant = {
        reason.value: (int(row.code), row.http_status or 200)
        for reason, row in REASONS.items()
        if reason not in _NEVER_SAID
    }
    # The status of the whole request's media type; a part's is 200.
    meant["CONTENT_TYPE_NOT_SUPPORTED"] = (-32005, 415)
    assert said == meant


def test_the_readme_says_yes_to_the_methods_that_work() -> None:
    yes = re.findall(r"^\| (.+?) \| yes \|", _read("README.md"), re.M)

    methods = {word for row in yes for word in re.findall(r"[A-Z]\w+", row)}

    assert methods == set(OPERATIONS)
