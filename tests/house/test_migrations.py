"""What has landed is never edited: an installation has run it as it was."""

from __future__ import annotations

import hashlib

import pytest

from tests.databases import ROOT

LANDED = {
    "agent_runs/migrations/0001_initial.py": (
        "4c15a18f6ddb46bcabc5dde093ce67d2e8a89f1efbbb7c45907b392cf1e966fe"
    ),
    "a2a_server/migrations/0001_initial.py": (
        "58b3c557126e5840fba222e8a2930ff9f084fc757de384eaa18d5badd1654006"
    ),
    "a2a_server/migrations/0002_relations.py": (
        "9cefed26d700bb51bbd5b431b3ec4270753f43e890ce8a2e7e47e889a3fff11f"
    ),
    "a2a_server/migrations/0003_indexes_of_open_tasks.py": (
        "eb0800e10280494c486a1a5753b2a987443bd087415a49c90e320b19f9743a9b"
    ),
    "a2a_server/migrations/0004_help_texts.py": (
        "29a8bbb437275991ecb0bf162fc145a140b62d6b4e0234e78d6880a8d62fad7d"
    ),
    "agent_runs/migrations/0002_fewer_indexes.py": (
        "a72c2699246f1b76bb2b86f41d5d1c9cbeeecbed480d7191345c52b138d12be1"
    ),
}


@pytest.mark.parametrize(("path", "digest"), LANDED.items())
def test_a_landed_migration_is_what_it_was(path: str, digest: str) -> None:
    assert hashlib.sha256((ROOT / path).read_bytes()).hexdigest() == digest
