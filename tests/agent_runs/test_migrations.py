"""What an installation has stored comes along when it is upgraded."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import uuid
from typing import TYPE_CHECKING

from tests.databases import ROOT

if TYPE_CHECKING:
    from pathlib import Path

_RUN = {
    "end_reason": "",
    "truncated": 0,
    "handler": "llm.text",
    "tools": "[]",
    "answer_level": "full",
    "request": "",
    "lease_owner": "",
    "segments": 1,
    "requeues": 0,
    "has_effects": 0,
    "rounds": 1,
    "input_tokens": 0,
    "output_tokens": 0,
    "events_written": 1,
    "created_at": "2026-01-01 00:00:00",
    "state_changed_at": "2026-01-01 00:00:00",
}


def _migrate(database: Path, *target: str) -> None:
    environment = os.environ | {"DATABASE_URL": f"sqlite:///{database}", "DEBUG": "on"}
    environment["DJANGO_SETTINGS_MODULE"] = "a2a_project.settings"
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "-v0", *target],
        cwd=ROOT,
        env=environment | {"DATA_DIR": str(database.parent)},
        check=True,
        timeout=100,
    )


def _insert_run(database: Path, state: str) -> str:
    values = _RUN | {"id": uuid.uuid4().hex, "state": state}
    names, places = ", ".join(values), ", ".join("?" * len(values))
    with sqlite3.connect(database) as connection:
        connection.execute(
            f"INSERT INTO agent_runs_agentrun ({names}) VALUES ({places})",  # noqa: S608
            list(values.values()),
        )
    connection.close()
    return str(values["id"])


def test_who_waited_before_there_were_answers_is_worked_on_again(
    tmp_path: Path,
) -> None:
    """Nobody could have answered; the run asks again, and then somebody can."""
    database = tmp_path / "old.sqlite3"
    _migrate(database, "agent_runs", "0002")
    waiting = {
        state: _insert_run(database, state)
        for state in ("waiting_for_input", "waiting_for_approval", "waiting_for_remote")
    }

    _migrate(database)

    with sqlite3.connect(database) as connection:
        rows = connection.execute("SELECT id, state, due_at FROM agent_runs_agentrun")
        found = {key: (state, due is not None) for key, state, due in rows}
    connection.close()
    assert found == {
        waiting["waiting_for_input"]: ("queued", True),
        waiting["waiting_for_approval"]: ("queued", True),
        waiting["waiting_for_remote"]: ("waiting_for_remote", False),
    }
