"""Applies one change to every text of a result, wherever it stands.

Masking and cleaning share it, so that neither can forget a place where text hides: names,
descriptions, metadata, JSON values, file names, addresses, the files themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agent_runs.contents import DataPart, TextPart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent_runs.contents import JSONValue, Output, Part, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    text: Callable[[str], str]
    value: Callable[[JSONValue], JSONValue]
    raw: Callable[[bytes], bytes] | None = None


def rewrite_result(result: Result, changes: Changes) -> Result:
    return replace(
        result,
        outputs=tuple(_rewrite_output(output, changes) for output in result.outputs),
        note=changes.text(result.note),
        message=_rewrite_parts(result.message, changes),
    )


def _rewrite_output(output: Output, changes: Changes) -> Output:
    return replace(
        output,
        parts=_rewrite_parts(output.parts, changes),
        name=changes.text(output.name),
        description=changes.text(output.description),
        metadata=_rewrite_mapping(output.metadata, changes),
    )


def _rewrite_mapping(
    mapping: Mapping[str, JSONValue], changes: Changes
) -> Mapping[str, JSONValue]:
    changed = changes.value(dict(mapping))
    return changed if isinstance(changed, dict) else {}


def _rewrite_parts(parts: tuple[Part, ...], changes: Changes) -> tuple[Part, ...]:
    return tuple(_rewrite_part(part, changes) for part in parts)


def _rewrite_part(part: Part, changes: Changes) -> Part:
    if isinstance(part, TextPart):
        return replace(part, text=changes.text(part.text))
    if isinstance(part, DataPart):
        return replace(part, data=changes.value(part.data))
    return replace(
        part,
        filename=changes.text(part.filename),
        url=changes.text(part.url),
        raw=_rewrite_bytes(part.raw, changes),
    )


def _rewrite_bytes(raw: bytes | None, changes: Changes) -> bytes | None:
    return raw if raw is None or changes.raw is None else changes.raw(raw)
