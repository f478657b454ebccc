"""The parts of a message or an artifact as one text, for a model to read (C8).

What is no text is named where it stands, on a line of its own.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from a2a_client import words
from a2a_protocol import json_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from a2a_protocol.types import Artifact, Message, Part

LONGEST_DATA: Final = 2000

_LONGEST_NAME: Final = 200
_LONGEST_URL: Final = 2000


def of_message(message: Message | None) -> str:
    return _joined(message.parts, between="\n") if message else ""


def of_artifact(artifact: Artifact) -> str:
    # Streaming agents append a part for every few letters, and a snapshot of theirs
    # has all of those parts: nothing stands between them (B114).
    return _joined(artifact.parts, between="")


def _joined(parts: Iterable[Part], *, between: str) -> str:
    blocks = []
    for is_text, group in groupby(parts, key=lambda part: part.kind == "text"):
        if is_text:
            blocks.append(between.join(part.text or "" for part in group))
        else:
            blocks.append("\n".join(map(_named, group)))
    return "\n".join(blocks).strip()


def _named(part: Part) -> str:
    if part.kind == "data":
        return f"[data: {words.cut(json_text.dump_json(part.data), LONGEST_DATA)}]"
    name = words.one_line(part.filename, _LONGEST_NAME)
    kind = words.one_line(part.media_type, _LONGEST_NAME)
    if part.raw is not None:
        place = f"{len(part.raw):,} bytes"
    else:
        place = words.one_line(part.url or "", _LONGEST_URL)
    told = ", ".join(filter(None, [name, kind, place]))
    return f"[file {told}]"
