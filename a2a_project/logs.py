"""One JSON object a log line, so that machines and people read the same log.

What a call passes as `extra` stands beside the standard members. Secrets and contents of
messages are never logged (S91); the formatter cuts what is long all the same, and no
value, however odd, costs the line: what JSON does not know is written as text.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "taskName",
    # uvicorn's second form of its message, for terminals.
    "color_message",
}
_LONGEST = 4_000
# Its end says what was raised, and where.
_LONGEST_TRACEBACK = 8_000


class JSONFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(
                timespec="milliseconds"
            ),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record)[:_LONGEST],
        }
        for name, value in vars(record).items():
            if name not in _STANDARD:
                line.setdefault(str(name), _fit(value))
        if record.exc_info:
            traceback = self.formatException(record.exc_info)
            line["exception"] = traceback[-_LONGEST_TRACEBACK:]
        text = json.dumps(line, ensure_ascii=False)
        # A lone surrogate becomes the escape that JSON has for it.
        return text.encode(errors="backslashreplace").decode()


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 -- arguments that do not fit, or have no text
        return f"{_text(record.msg)} (arguments that do not fit)"


def _fit(value: object) -> object:
    """The value itself where JSON has it and it is short, otherwise text."""
    if isinstance(value, str):
        return value[:_LONGEST]
    try:
        written = json.dumps(value, default=str, ensure_ascii=False, allow_nan=False)
    except Exception:  # noqa: BLE001 -- circular, a key that is no text, a bad `__str__`
        return _text(value)[:_LONGEST]
    return json.loads(written) if len(written) <= _LONGEST else written[:_LONGEST]


def _text(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 -- the value's own code
        return f"<{type(value).__name__}>"
