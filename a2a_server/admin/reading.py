"""A task's stored JSON as text for people.

What is stored is believed in nothing: text that is no JSON, or JSON of another shape, is
shown as it is. Callers escape and cut.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_ROLES = {"ROLE_USER": "Client", "ROLE_AGENT": "Agent"}


def status(stored: str) -> str:
    return _read(stored, _status_lines)


def messages(stored: str) -> str:
    """One message or a list of them."""
    return _read(stored, _message_lines)


def artifacts(stored: str) -> str:
    return _read(stored, _artifact_lines)


def _read(stored: str, lines: Callable[[Any], Iterable[str]]) -> str:
    try:
        return "\n".join(lines(json.loads(stored)))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return stored


def _status_lines(head: dict[str, Any]) -> Iterator[str]:
    state = head["status"]
    yield f"{state['state']} {state.get('timestamp', '')}".strip()
    if message := state.get("message"):
        yield from _message_lines(message)


def _message_lines(found: dict[str, Any] | list[dict[str, Any]]) -> Iterator[str]:
    for message in found if isinstance(found, list) else [found]:
        role = message.get("role", "")
        yield f"{_ROLES.get(role, role)}:"
        yield from map(_part_text, message.get("parts", []))
        yield ""


def _artifact_lines(found: list[dict[str, Any]]) -> Iterator[str]:
    for artifact in found:
        yield f"{artifact.get('name') or 'Artifact'}:"
        yield from map(_part_text, artifact.get("parts", []))
        yield ""


def _part_text(part: dict[str, Any]) -> str:
    if "text" in part:
        return str(part["text"])
    if "data" in part:
        return json.dumps(part["data"], ensure_ascii=False, indent=2)
    return f"[{part.get('filename') or part.get('url') or 'file'}]"
