"""The JSON-RPC 2.0 envelope: one request in, one reply out.

- A batch is refused as a whole: A2A does not use them, and a stream cannot stand in an
  array.
- A request without an id is answered, with id null. Clients of A2A expect a reply to
  everything they send.
- An error names the id whenever it could be read, so that a client can tell which of
  its requests was refused.
- Replies are joined as text, since a result is JSON text already.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn

from a2a_protocol import errors, json_text
from a2a_protocol.errors import ErrorCode, ProtocolError
from a2a_protocol.request_id import NULL_ID, RequestId

if TYPE_CHECKING:
    from a2a_protocol.json_text import Document, JSONValue

__all__ = [
    "MAX_ID_LENGTH",
    "NULL_ID",
    "Request",
    "RequestId",
    "error_bytes",
    "params_object",
    "parse_request",
    "result_bytes",
]

MAX_ID_LENGTH: Final = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """An accepted envelope. ``params`` is unchecked; read it by ``params_object``.

    ``suspect`` is false only if params is known to hold no bad text and no number
    that is not finite.
    """

    id: RequestId
    method: str
    params: JSONValue
    suspect: bool = True


def parse_request(body: bytes) -> Request:
    """Raises ProtocolError (PARSE, INVALID_REQUEST) and nothing else."""
    document = json_text.read_document(body)
    envelope = document.value
    if not isinstance(envelope, dict):
        _refuse("The body has to be one JSON object.", NULL_ID)
    request_id = _read_id(envelope, document)
    if document.repeated:
        raise json_text.repeated_name(request_id)
    if request_id is None:
        _refuse(
            f"The id has to be an integer, null or a string of at most {MAX_ID_LENGTH}"
            " characters.",
            NULL_ID,
        )
    if envelope.get("jsonrpc") != "2.0":
        _refuse('The member jsonrpc has to be "2.0".', request_id)
    method = envelope.get("method")
    if not isinstance(method, str):
        _refuse("The method has to be a string.", request_id)
    if document.suspect:
        _refuse_bad_envelope(envelope, request_id)
    return Request(
        id=request_id,
        method=method,
        params=envelope.get("params"),
        suspect=document.suspect,
    )


def params_object(request: Request) -> dict[str, JSONValue]:
    """The parameters by name; absent and null are none. Raises INVALID_PARAMS."""
    params = request.params
    if params is None:
        return {}
    if not isinstance(params, dict):
        raise errors.invalid_params(
            "params", "An object is needed here.", request_id=request.id
        )
    if request.suspect:
        json_text.refuse_bad_values(params, request_id=request.id)
    return params


def result_bytes(request_id: RequestId, result_json: str) -> bytes:
    """A reply around a result that is JSON text."""
    text = f'{{"jsonrpc":"2.0","id":{request_id.json},"result":{result_json}}}'
    return text.encode()


def error_bytes(request_id: RequestId | None, error: ProtocolError) -> bytes:
    """A reply that refuses. Without an id the one that the error carries is used."""
    known_id = request_id or error.request_id or NULL_ID
    written = json_text.dump_json(errors.error_object(error))
    return f'{{"jsonrpc":"2.0","id":{known_id.json},"error":{written}}}'.encode()


def _refuse(message: str, request_id: RequestId) -> NoReturn:
    raise ProtocolError(
        code=ErrorCode.INVALID_REQUEST, message=message, request_id=request_id
    )


def _read_id(envelope: dict[str, JSONValue], document: Document) -> RequestId | None:
    """The id as it is echoed, or None where it cannot be read."""
    if "id" in document.outer_repeats:
        return None
    value = envelope.get("id")
    if value is None:
        return NULL_ID
    if json_text.find_bad_value(value) is not None:
        return None
    if isinstance(value, str):
        return _string_id(value)
    # By type, since True is an int to isinstance and 1.0 equals 1.
    if type(value) is int:
        return RequestId(json=_integer_text(value, document))
    return None


def _string_id(value: str) -> RequestId | None:
    if len(value) > MAX_ID_LENGTH:
        return None
    return RequestId(json=json_text.dump_json(value))


def _integer_text(value: int, document: Document) -> str:
    # JSON has one spelling for each integer but zero, which may carry a sign.
    if value == 0 and "-0" in document.text and _wrote_minus_zero(document.text):
        return "-0"
    return str(value)


def _wrote_minus_zero(text: str) -> bool:
    spelled = json.loads(text, parse_int=str)
    return bool(spelled["id"] == "-0")


def _refuse_bad_envelope(envelope: dict[str, JSONValue], request_id: RequestId) -> None:
    outside = {name: member for name, member in envelope.items() if name != "params"}
    violation = json_text.find_bad_value(outside)
    if violation is not None:
        _refuse(f"{violation.field}: {violation.description}", request_id)
