"""From a client's message to the input of a run (S42).

A part is taken if the skill's handler takes its kind and its media type. A part without
a media type is plain text or JSON, as its kind says. No handler takes files yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from a2a_server.errors import Reason, refuse
from agent_runs.contents import DataPart, RunInput, TextPart

if TYPE_CHECKING:
    from collections.abc import Iterable

    from a2a_protocol import types
    from a2a_protocol.errors import ProtocolError
    from agent_runs.contents import Part
    from agent_runs.handlers import DomainHandler

_USUAL_TYPES: Final = {"text": "text/plain", "data": "application/json"}


def run_input(
    request: types.SendMessageRequest, *, skill_id: str, handler: DomainHandler
) -> RunInput:
    """Raises CONTENT_TYPE_NOT_SUPPORTED for the first part that is not taken."""
    message, configuration = request.message, request.configuration
    accepted = configuration.accepted_output_modes if configuration else ()
    return RunInput(
        parts=tuple(
            _part(part, number, handler) for number, part in enumerate(message.parts)
        ),
        skill=skill_id,
        message_id=message.message_id,
        metadata=request.metadata or {},
        accepted_output_modes=accepted,
    )


def is_accepted(media_type: str, patterns: Iterable[str]) -> bool:
    """Whether one of the patterns (`a/b`, `a/*`, `*/*`) covers it; parameters and case
    do not count.
    """
    essence = _essence(media_type)
    main_type = essence.partition("/")[0]
    known = {_essence(pattern) for pattern in patterns}
    return not known.isdisjoint({essence, f"{main_type}/*", "*/*"})


def _part(part: types.Part, number: int, handler: DomainHandler) -> Part:
    usual = _USUAL_TYPES.get(part.kind or "")
    media_type = part.media_type.strip() or usual
    if usual is None or media_type is None or not _is_taken(part, media_type, handler):
        raise _not_taken(number, handler)
    if part.text is not None:
        return TextPart(text=part.text, media_type=media_type)
    return DataPart(data=part.data, media_type=media_type)


def _is_taken(part: types.Part, media_type: str, handler: DomainHandler) -> bool:
    # A handler that reads text has no use for data that only calls itself text.
    if part.kind == "data" and not _is_json(media_type):
        return False
    return is_accepted(media_type, handler.input_modes)


def _is_json(media_type: str) -> bool:
    return _essence(media_type).endswith(("/json", "+json"))


def _essence(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()


def _not_taken(number: int, handler: DomainHandler) -> ProtocolError:
    return refuse(
        Reason.CONTENT_TYPE_NOT_SUPPORTED,
        message=f"The skill does not take the content of message.parts[{number}].",
        metadata={
            "field": f"message.parts[{number}]",
            "inputModes": ",".join(handler.input_modes),
        },
    )
