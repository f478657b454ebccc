"""What a line for `make` would start; nothing is installed and nothing is started."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

from tests import processes

_BIN = "/nowhere/bin/python"


def argv(line: str, **environment: str) -> list[str]:
    """The program that the recipe ends with, by the interpreter of the tests.

    `environment` is beside PATH; what another `make` has told its children stays out.
    """
    done = subprocess.run(
        [*shlex.split(line), "--dry-run", "VENV=/nowhere"],
        cwd=processes.ROOT,
        env={"PATH": os.environ["PATH"]} | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    words = shlex.split(done.stdout.splitlines()[-1])
    return [sys.executable, *words[words.index(_BIN) + 1 :]]
