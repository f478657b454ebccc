"""What was released is never edited: an installation has run it as it was."""

from __future__ import annotations

import hashlib

import pytest

from tests.databases import ROOT

# Of 0.1.0. A release adds the migrations that it brings.
RELEASED = {
    "agent_runs/migrations/0001_initial.py": (
        "4c15a18f6ddb46bcabc5dde093ce67d2e8a89f1efbbb7c45907b392cf1e966fe"
    ),
    "a2a_server/migrations/0001_initial.py": (
        "58b3c557126e5840fba222e8a2930ff9f084fc757de384eaa18d5badd1654006"
    ),
    "a2a_server/migrations/0002_relations.py": (
        "9cefed26d700bb51bbd5b431b3ec4270753f43e890ce8a2e7e47e889a3fff11f"
    ),
}


@pytest.mark.parametrize(("path", "digest"), RELEASED.items())
def test_a_released_migration_is_what_it_was(path: str, digest: str) -> None:
    assert hashlib.sha256((ROOT / path).read_bytes()).hexdigest() == digest
