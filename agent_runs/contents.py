"""What goes into a run and what comes out of it, in words no protocol owns.

Values are frozen; their stored form is JSON text with a format number, so that a worker
of an older release can tell that it does not understand a newer one's row.
"""

from __future__ import annotations

import base64
import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

JSONValue = None | bool | int | float | str | list["JSONValue"] | dict[str, "JSONValue"]
FORMAT = 1


class ContentsError(Exception):
    """A stored text is not of a format that this release reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPart:
    text: str
    media_type: str = "text/plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPart:
    """`data` is any JSON value."""

    data: JSONValue
    media_type: str = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePart:
    """Either `raw` (the bytes) or `url` (where they are)."""

    media_type: str
    filename: str = ""
    raw: bytes | None = None
    url: str = ""


Part = TextPart | DataPart | FilePart


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one side said earlier in a conversation."""

    text: str
    is_from_agent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInput:
    """What was asked. `skill` and `message_id` are the asker's own names.

    `earlier` is what was said before, the oldest first, where a skill remembers it.
    """

    parts: tuple[Part, ...]
    skill: str = ""
    message_id: str = ""
    metadata: Mapping[str, JSONValue] = field(default_factory=dict)
    accepted_output_modes: tuple[str, ...] = ()
    earlier: tuple[Turn, ...] = ()

    @property
    def text(self) -> str:
        """All text parts, one below the other."""
        return "\n".join(p.text for p in self.parts if isinstance(p, TextPart))


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One finished piece of work: a document, a data set, a file."""

    parts: tuple[Part, ...]
    name: str = ""
    description: str = ""
    metadata: Mapping[str, JSONValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a run gives back.

    `outputs` are kept as results. `note` is a sentence beside them. `message` answers
    instead of results, for handlers that declare `answers_with_message`.
    """

    outputs: tuple[Output, ...] = ()
    note: str = ""
    message: tuple[Part, ...] = ()


def text_output(text: str, *, name: str = "") -> Output:
    return Output(parts=(TextPart(text=text),), name=name)


# --- Stored form ----------------------------------------------------------------------


def _dump_part(part: Part) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"text": part.text, "type": part.media_type}
    if isinstance(part, DataPart):
        return {"data": part.data, "type": part.media_type}
    raw = None if part.raw is None else base64.b64encode(part.raw).decode()
    return {
        "file": {"raw": raw, "url": part.url, "name": part.filename},
        "type": part.media_type,
    }


def _load_part(stored: dict[str, Any]) -> Part:
    kind = stored["type"]
    if "text" in stored:
        return TextPart(text=stored["text"], media_type=kind)
    if "data" in stored:
        return DataPart(data=stored["data"], media_type=kind)
    file = stored["file"]
    raw = None if file["raw"] is None else base64.b64decode(file["raw"])
    return FilePart(media_type=kind, filename=file["name"], raw=raw, url=file["url"])


def _dump_parts(parts: tuple[Part, ...]) -> list[dict[str, Any]]:
    return [_dump_part(part) for part in parts]


def _load_parts(stored: list[dict[str, Any]]) -> tuple[Part, ...]:
    return tuple(_load_part(part) for part in stored)


def _dump(value: dict[str, Any]) -> str:
    return json.dumps({"format": FORMAT} | value, ensure_ascii=False, allow_nan=False)


def load_document(text: str) -> dict[str, Any]:
    """Read a stored document; raise `ContentsError` for a format of another release."""
    document = json.loads(text)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ContentsError("a stored document has a format this release does not read")
    return document


@contextmanager
def reading() -> Iterator[None]:
    """Within, whatever a document of another shape raises is a `ContentsError`."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ContentsError("a stored document has another shape") from error


def dump_document(value: dict[str, Any]) -> str:
    return _dump(value)


def dump_input(value: RunInput) -> str:
    return _dump(
        {
            "parts": _dump_parts(value.parts),
            "skill": value.skill,
            "message_id": value.message_id,
            "metadata": dict(value.metadata),
            "accepted_output_modes": list(value.accepted_output_modes),
            "earlier": [[turn.text, turn.is_from_agent] for turn in value.earlier],
        }
    )


def load_input(text: str) -> RunInput:
    stored = load_document(text)
    return RunInput(
        parts=_load_parts(stored["parts"]),
        skill=stored["skill"],
        message_id=stored["message_id"],
        metadata=stored["metadata"],
        accepted_output_modes=tuple(stored["accepted_output_modes"]),
        earlier=tuple(
            Turn(text=text, is_from_agent=is_from_agent)
            # An earlier release stored none.
            for text, is_from_agent in stored.get("earlier", ())
        ),
    )


def dump_result(value: Result) -> str:
    outputs = [
        {
            "parts": _dump_parts(output.parts),
            "name": output.name,
            "description": output.description,
            "metadata": dict(output.metadata),
        }
        for output in value.outputs
    ]
    message = _dump_parts(value.message)
    return _dump({"outputs": outputs, "note": value.note, "message": message})


def load_result(text: str) -> Result:
    stored = load_document(text)
    outputs = tuple(
        Output(
            parts=_load_parts(output["parts"]),
            name=output["name"],
            description=output["description"],
            metadata=output["metadata"],
        )
        for output in stored["outputs"]
    )
    return Result(
        outputs=outputs,
        note=stored["note"],
        message=_load_parts(stored["message"]),
    )
