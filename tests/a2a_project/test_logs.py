from __future__ import annotations

import json
import logging
import sys
from typing import Any

from a2a_project import logs


def _formatted(**values: Any) -> dict[str, Any]:
    record = logging.makeLogRecord(
        {"name": "a2a", "levelname": "INFO", "msg": "Hello", "created": 0.5} | values
    )
    line = logs.JSONFormatter().format(record)
    assert "\n" not in line
    parsed: dict[str, Any] = json.loads(line)
    return parsed


def test_writes_one_object_a_line() -> None:
    assert _formatted(msg="two\nlines") == {
        "time": "1970-01-01T00:00:00.500+00:00",
        "level": "info",
        "logger": "a2a",
        "message": "two\nlines",
    }


def test_puts_what_was_passed_as_extra_beside_the_message() -> None:
    assert _formatted(client="caller", task=None)["client"] == "caller"


def test_writes_what_json_does_not_know_as_text() -> None:
    assert _formatted(thing={1})["thing"] == "{1}"


def test_cuts_a_long_message() -> None:
    assert len(_formatted(msg="x" * 10_000)["message"]) == 4_000


def test_keeps_the_traceback_for_the_operator() -> None:
    try:
        raise ValueError("bad")
    except ValueError:
        line = _formatted(exc_info=sys.exc_info())

    assert "ValueError: bad" in line["exception"]
