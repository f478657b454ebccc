"""The code in the papers runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from tests import processes

if TYPE_CHECKING:
    from tests.processes import Installation

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def _blocks(name: str) -> list[str]:
    return _BLOCK.findall((ROOT / name).read_text(encoding="utf-8"))


def test_the_readme_shows_the_handler_of_the_guide() -> None:
    (shown,) = _blocks("README.md")

    assert shown in _blocks("docs/handlers.md")[0]


def test_a_handler_is_about_ten_lines() -> None:
    (shown,) = _blocks("README.md")

    assert len([line for line in shown.splitlines() if line]) <= 10


def test_the_guides_handler_is_found_where_its_app_is_named(
    tmp_path: Path,
) -> None:
    package = tmp_path / "wordcount"
    package.mkdir()
    handler, apps = _blocks("docs/handlers.md")[:2]
    for name, code in (("__init__", ""), ("handler", handler), ("apps", apps)):
        (package / f"{name}.py").write_text(code)

    with processes.installation(
        tmp_path / "site", EXTRA_APPS="wordcount", PYTHONPATH=str(tmp_path)
    ) as site:
        found = _answer(site)

    assert found == "3"


def _answer(site: Installation) -> str:
    code = (
        "from types import SimpleNamespace as S; from agent_runs import handlers;"
        "handler = handlers.find('words.count');"
        "result = handler.run(S(input=S(text='one two three')));"
        "print(result.outputs[0].parts[0].text)"
    )
    return site.manage("shell", "--no-imports", "-c", code).stdout.strip()
