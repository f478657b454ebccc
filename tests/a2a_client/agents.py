"""What remote agents say, made for tests."""

from __future__ import annotations

from typing import Any


def message(*texts: str, **members: Any) -> dict[str, Any]:
    parts = [{"text": text} for text in texts]
    return {"messageId": "m", "role": "ROLE_AGENT", "parts": parts} | members


def artifact(*texts: str, id_: str = "a", **members: Any) -> dict[str, Any]:
    return {"artifactId": id_, "parts": [{"text": text} for text in texts]} | members


def task(state: str | None = "COMPLETED", **members: Any) -> dict[str, Any]:
    """`say`: the text of the status message."""
    status: dict[str, Any] = {"state": f"TASK_STATE_{state}"} if state else {}
    if (said := members.pop("say", None)) is not None:
        status["message"] = message(said)
    return {"id": "R1", "contextId": "K1", "status": status} | members
