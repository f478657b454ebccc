"""Calls commands as people do, and takes what they say."""

from __future__ import annotations

import io
from dataclasses import dataclass

from django.core.management import call_command

from agent_runs.management.command import ExitError


@dataclass(frozen=True, kw_only=True)
class Said:
    out: str
    err: str
    code: int
    problem: str


def run(command: str, *arguments: str) -> Said:
    stdout, stderr = io.StringIO(), io.StringIO()
    code, problem = 0, ""
    try:
        call_command(command, *arguments, stdout=stdout, stderr=stderr)
    except ExitError as error:
        code, problem = error.returncode, str(error)
    except SystemExit as ended:
        code = int(str(ended.code))
    return Said(
        out=stdout.getvalue(), err=stderr.getvalue(), code=code, problem=problem
    )
