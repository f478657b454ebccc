"""Every fault that other servers were reported to have is a test here, under its number.

The numbers are those of the collected reports on the envelope and JSON, versions and
media types, the data model, the life of a task, lists, cards, authentication, workers,
and the framework. Those that belong to what is not there yet are named with it.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Final

TESTS = Path(__file__).resolve().parents[1]

REPORTED: Final = {
    "envelope and JSON": (1, 3, 5, 6, 8, 9, 11, 13, 14),
    "version, extensions, media types": (15, 17, 18, 19),
    "data model": (21, 23, 24, 25, 26, 28, 29, 31),
    "life of a task": (33, 34, 36, 38, 39, 41, 42, 44, 47, 49),
    "lists": (75, 77, 79),
    "cards": (80, 82, 85, 86, 87),
    "authentication": (89, 91, 92, 93, 95),
    "workers and queue": (129, 131, 132, 134, 136),
    "framework and admin": (137, 139),
}
# What they are about does not exist in this release; nothing answers wrongly until then.
LATER: Final = {
    45: "artifacts that arrive in pieces come with streaming",
    83: "a remote agent's card is rewritten when remote agents are offered",
}


def test_every_report_is_a_test() -> None:
    found = {number for path in _files() for number in _numbers(path)}

    missing = {
        part: sorted(set(numbers) - found)
        for part, numbers in REPORTED.items()
        if set(numbers) - found
    }
    assert missing == {}


def test_what_comes_later_is_not_among_them() -> None:
    reported = {number for numbers in REPORTED.values() for number in numbers}

    assert reported.isdisjoint(LATER)


def _files() -> list[Path]:
    return [path for path in TESTS.rglob("test_*.py") if path != Path(__file__)]


def _numbers(path: Path) -> set[int]:
    """Those in the docstring of a test, or of the module for all of its tests."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef))
        and (isinstance(node, ast.Module) or node.name.startswith("test_"))
    ]
    text = " ".join(ast.get_docstring(node) or "" for node in documented)
    return {int(number) for number in re.findall(r"\bB(\d{3})\b", text)}
