"""Every error the protocol knows, and how one is written for a peer.

    Exception
    └── ProtocolError      a request is refused; this is what a peer is told
        ├── LocalError     we were about to send something that breaks the protocol
        └── RemoteError    a remote agent sent something that breaks the protocol

Rules of this file:

- ``ERROR_TABLE`` is the only place that maps a code to statuses, reason and sentence.
- Whatever is put into a ProtocolError may be read by a peer: our own sentences,
  field paths and ids, never the text of another exception.
- Details follow google.rpc: ErrorInfo first, BadRequest after it (specification 9.5
  and 11.6). Metadata is a map of strings; a list in it is comma-separated.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_protocol.request_id import RequestId

PROTOCOL_DOMAIN: Final = "a2a-protocol.org"
# The authority of the profile extension's URI; ErrorInfo domains are host names.
HOUSE_DOMAIN: Final = "nr-llm.netresearch.de"

_ERROR_INFO: Final = "type.googleapis.com/google.rpc.ErrorInfo"
_BAD_REQUEST: Final = "type.googleapis.com/google.rpc.BadRequest"
_UNNAMED_INTERNAL: Final = "INTERNAL"


class ErrorCode(IntEnum):
    PARSE = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL = -32603
    TASK_NOT_FOUND = -32001
    TASK_NOT_CANCELABLE = -32002
    PUSH_NOTIFICATION_NOT_SUPPORTED = -32003
    UNSUPPORTED_OPERATION = -32004
    CONTENT_TYPE_NOT_SUPPORTED = -32005
    INVALID_AGENT_RESPONSE = -32006
    EXTENDED_AGENT_CARD_NOT_CONFIGURED = -32007
    EXTENSION_SUPPORT_REQUIRED = -32008
    VERSION_NOT_SUPPORTED = -32009


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """``reason`` is the protocol's own, which only -32001…-32009 have."""

    http_json_status: int
    grpc_status: str
    reason: str | None
    message: str


# Statuses and reasons: specification 5.4 at v1.0.1. The sentences are ours.
ERROR_TABLE: Final[Mapping[ErrorCode, ErrorRow]] = MappingProxyType(
    {
        ErrorCode.PARSE: ErrorRow(
            400, "INVALID_ARGUMENT", None, "The body cannot be read as JSON."
        ),
        ErrorCode.INVALID_REQUEST: ErrorRow(
            400, "INVALID_ARGUMENT", None, "The request is not valid."
        ),
        ErrorCode.METHOD_NOT_FOUND: ErrorRow(
            404, "NOT_FOUND", None, "There is no such method."
        ),
        ErrorCode.INVALID_PARAMS: ErrorRow(
            400, "INVALID_ARGUMENT", None, "The parameters are not valid."
        ),
        ErrorCode.INTERNAL: ErrorRow(
            500, "INTERNAL", None, "The request could not be completed."
        ),
        ErrorCode.TASK_NOT_FOUND: ErrorRow(
            404, "NOT_FOUND", "TASK_NOT_FOUND", "There is no such task."
        ),
        ErrorCode.TASK_NOT_CANCELABLE: ErrorRow(
            400,
            "FAILED_PRECONDITION",
            "TASK_NOT_CANCELABLE",
            "The task has ended and cannot be canceled.",
        ),
        ErrorCode.PUSH_NOTIFICATION_NOT_SUPPORTED: ErrorRow(
            400,
            "FAILED_PRECONDITION",
            "PUSH_NOTIFICATION_NOT_SUPPORTED",
            "Push notifications are not offered here.",
        ),
        ErrorCode.UNSUPPORTED_OPERATION: ErrorRow(
            400,
            "FAILED_PRECONDITION",
            "UNSUPPORTED_OPERATION",
            "This operation is not possible here.",
        ),
        ErrorCode.CONTENT_TYPE_NOT_SUPPORTED: ErrorRow(
            400,
            "INVALID_ARGUMENT",
            "CONTENT_TYPE_NOT_SUPPORTED",
            "This kind of content is not accepted.",
        ),
        ErrorCode.INVALID_AGENT_RESPONSE: ErrorRow(
            500,
            "INTERNAL",
            "INVALID_AGENT_RESPONSE",
            "The agent gave an answer that cannot be used.",
        ),
        ErrorCode.EXTENDED_AGENT_CARD_NOT_CONFIGURED: ErrorRow(
            400,
            "FAILED_PRECONDITION",
            "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
            "There is no extended agent card.",
        ),
        ErrorCode.EXTENSION_SUPPORT_REQUIRED: ErrorRow(
            400,
            "FAILED_PRECONDITION",
            "EXTENSION_SUPPORT_REQUIRED",
            "The client has to support an extension that it did not name.",
        ),
        ErrorCode.VERSION_NOT_SUPPORTED: ErrorRow(
            400,
            "FAILED_PRECONDITION",
            "VERSION_NOT_SUPPORTED",
            "This version of the protocol is not spoken here.",
        ),
    }
)


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """``field`` is a path in JSON names, such as ``message.parts[0].text``."""

    field: str
    description: str


class ProtocolError(Exception):
    """A refusal, with everything a binding needs to write it.

    ``reason`` is a finer reason of this product; ``http_status`` the status of a
    JSON-RPC reply where it is not 200; ``retry_after`` is in seconds; ``request_id``
    is set when the id could be read although the request could not be accepted.
    """

    def __init__(
        self,
        *,
        code: ErrorCode,
        message: str | None = None,
        reason: str | None = None,
        metadata: Mapping[str, str] = MappingProxyType({}),
        violations: Sequence[FieldViolation] = (),
        http_status: int | None = None,
        retry_after: int | None = None,
        request_id: RequestId | None = None,
    ) -> None:
        self.code = code
        self.message = ERROR_TABLE[code].message if message is None else message
        self.reason = reason
        self.metadata = dict(metadata)
        self.violations = tuple(violations)
        self.http_status = http_status
        self.retry_after = retry_after
        self.request_id = request_id
        super().__init__(self.message)

    # An exception is rebuilt from its positional arguments by default, and this one
    # takes none; Celery and multiprocessing both send exceptions as pickles.
    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), dict(vars(self)))


class LocalError(ProtocolError):
    """We were about to write something that the protocol does not allow."""


class RemoteError(ProtocolError):
    """A remote agent wrote something that the protocol does not allow."""


def _rebuild(kind: type[ProtocolError], members: dict[str, Any]) -> ProtocolError:
    return kind(**members)


def invalid_params(
    field: str,
    description: str,
    *,
    reason: str | None = None,
    metadata: Mapping[str, str] = MappingProxyType({}),
    request_id: RequestId | None = None,
) -> ProtocolError:
    """A -32602 about one field; the field is named in the sentence as well."""
    return invalid_fields(
        (FieldViolation(field, description),),
        reason=reason,
        metadata=metadata,
        request_id=request_id,
    )


def invalid_fields(
    violations: Sequence[FieldViolation],
    *,
    reason: str | None = None,
    metadata: Mapping[str, str] = MappingProxyType({}),
    request_id: RequestId | None = None,
) -> ProtocolError:
    """A -32602 about one field or several; the sentence names the first."""
    return ProtocolError(
        code=ErrorCode.INVALID_PARAMS,
        message=sentence_about(ErrorCode.INVALID_PARAMS, violations),
        reason=reason,
        metadata=metadata,
        violations=violations,
        request_id=request_id,
    )


def sentence_about(code: ErrorCode, violations: Sequence[FieldViolation]) -> str:
    # Some clients show the message only and drop the details, so the first one is
    # said twice.
    first = violations[0]
    place = f"{first.field}: " if first.field else ""
    return f"{ERROR_TABLE[code].message} {place}{first.description}"


def error_object(error: ProtocolError) -> dict[str, Any]:
    """The ``error`` member of a JSON-RPC reply."""
    details = error_details(error)
    written: dict[str, Any] = {"code": int(error.code), "message": error.message}
    return {**written, "data": details} if details else written


def error_details(error: ProtocolError) -> list[dict[str, Any]]:
    """The ErrorInfo and BadRequest objects of one error, in their order.

    The protocol's reason comes first where the code has one. A finer reason stands in
    the metadata of every ErrorInfo, because the official client shows nothing else.
    """
    protocol_reason = ERROR_TABLE[error.code].reason
    reason = _house_reason(error)
    metadata = (
        error.metadata if reason is None else {**error.metadata, "reason": reason}
    )
    details: list[dict[str, Any]] = []
    if protocol_reason is not None:
        details.append(_error_info(protocol_reason, PROTOCOL_DOMAIN, metadata))
    if reason is not None:
        details.append(_error_info(reason, HOUSE_DOMAIN, metadata))
    if error.code is ErrorCode.INVALID_PARAMS and error.violations:
        details.append(_bad_request(error.violations))
    return details


def _house_reason(error: ProtocolError) -> str | None:
    if error.reason is None and error.code is ErrorCode.INTERNAL:
        return _UNNAMED_INTERNAL
    if error.reason == ERROR_TABLE[error.code].reason:
        return None
    return error.reason


def _error_info(
    reason: str, domain: str, metadata: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "@type": _ERROR_INFO,
        "reason": reason,
        "domain": domain,
        "metadata": dict(metadata),
    }


def _bad_request(violations: Sequence[FieldViolation]) -> dict[str, Any]:
    return {
        "@type": _BAD_REQUEST,
        "fieldViolations": [
            {"field": violation.field, "description": violation.description}
            for violation in violations
        ],
    }
