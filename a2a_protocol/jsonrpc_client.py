"""The JSON-RPC 2.0 envelope, as a client sees it: one request out, one reply in.

- A request's id is a text that the caller makes, unique for each call.
- A result counts only under that very id, compared by value and by type. An error may
  have the id null: JSON-RPC 2.0 section 5 has a server write it so where it could not
  read the request, and a server that refuses from the headers alone does the same.
- ``"error": null`` beside a result, or the other way round, is an absent member; some
  libraries write both.
- A result is an object, as that of every method of A2A is.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn

from a2a_protocol import json_text
from a2a_protocol.errors import ErrorCode, ProtocolError, RemoteError

if TYPE_CHECKING:
    from a2a_protocol.json_text import Document, JSONValue

LONGEST_MESSAGE: Final = 2000

_MOST_REASONS: Final = 16
# google.rpc.ErrorInfo: upper case with underscores, at most 63 characters.
_REASON: Final = re.compile(r"[A-Z][A-Z0-9_]{0,62}")
_ERROR_INFO: Final = "google.rpc.ErrorInfo"
_LARGEST_CODE: Final = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyError:
    """``message`` is the agent's own: storable text, at most 2000 characters.

    ``reasons`` are those of the ErrorInfo objects in its data, in their order.
    """

    code: int
    message: str = ""
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """``result`` is an object, unread; with ``error`` there is none."""

    result: JSONValue = None
    error: ReplyError | None = None


def request_bytes(request_id: str, method: str, params_json: str) -> bytes:
    """A request around parameters that are JSON text."""
    id_json, method_json = json_text.dump_json(request_id), json_text.dump_json(method)
    text = (
        f'{{"jsonrpc":"2.0","id":{id_json},"method":{method_json},'
        f'"params":{params_json}}}'
    )
    return text.encode()


def read_reply(body: bytes, request_id: str) -> Reply:
    """Raises RemoteError, whose message says why this is no reply to that request."""
    envelope = _envelope(_document(body))
    error, result = envelope.get("error"), envelope.get("result")
    if (error is None) == (result is None):
        _refuse("The reply needs either a result or an error.")
    if error is not None:
        _check_id(envelope, request_id, may_be_null=True)
        return Reply(error=_read_error(error))
    _check_id(envelope, request_id, may_be_null=False)
    if not isinstance(result, dict):
        _refuse("The result is not an object.")
    return Reply(result=result)


def _document(body: bytes) -> Document:
    try:
        # RFC 8259 section 8.1: a reader may ignore a mark that it should not have got.
        return json_text.read_document(body.removeprefix(codecs.BOM_UTF8))
    except ProtocolError as error:
        raise _no_reply(error.message) from None


def _envelope(document: Document) -> dict[str, JSONValue]:
    if not isinstance(document.value, dict):
        _refuse("The reply is not one JSON object.")
    if document.outer_repeats:
        _refuse("The reply names a member twice.")
    return document.value


def _check_id(
    envelope: dict[str, JSONValue], request_id: str, *, may_be_null: bool
) -> None:
    found = envelope.get("id")
    if found == request_id:
        return
    # Without the id something has to say that this is JSON-RPC at all.
    is_nameless = found is None and envelope.get("jsonrpc") == "2.0"
    if not (may_be_null and is_nameless):
        _refuse("The reply has the id of another request.")


def _read_error(error: JSONValue) -> ReplyError:
    code = error.get("code") if isinstance(error, dict) else None
    # By type, since True is an int to isinstance.
    if not isinstance(error, dict) or type(code) is not int:
        _refuse("The error has no code.")
    if abs(code) > _LARGEST_CODE:
        _refuse("The code of the error is too large.")
    return ReplyError(
        code=code, message=_message(error.get("message")), reasons=_reasons(error)
    )


def _message(message: JSONValue) -> str:
    text = message if isinstance(message, str) else ""
    return json_text.clean_text(text[:LONGEST_MESSAGE])


def _reasons(error: dict[str, JSONValue]) -> tuple[str, ...]:
    data = error.get("data")
    details = data if isinstance(data, list) else [data]
    found = [_reason(detail) for detail in details[:_MOST_REASONS]]
    return tuple(reason for reason in found if reason)


def _reason(detail: JSONValue) -> str:
    if not isinstance(detail, dict):
        return ""
    kind, reason = detail.get("@type"), detail.get("reason")
    is_info = isinstance(kind, str) and kind.endswith(_ERROR_INFO)
    if is_info and isinstance(reason, str) and _REASON.fullmatch(reason):
        return reason
    return ""


def _refuse(message: str) -> NoReturn:
    raise _no_reply(message)


def _no_reply(message: str) -> RemoteError:
    return RemoteError(code=ErrorCode.INVALID_AGENT_RESPONSE, message=message)
