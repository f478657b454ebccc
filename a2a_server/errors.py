"""Every reason this server refuses for, and what a peer is told (S14, S90).

`REASONS` is the only place that joins a reason with its code, HTTP status, waiting time
and sentence. A sentence is read by strangers: it names nothing of this installation.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from a2a_protocol.errors import ErrorCode, ProtocolError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_protocol.errors import FieldViolation


class Reason(StrEnum):
    WORKER_UNAVAILABLE = "WORKER_UNAVAILABLE"
    WAITING_CAPACITY_EXHAUSTED = "WAITING_CAPACITY_EXHAUSTED"
    BLOCKING_DEADLINE_EXCEEDED = "BLOCKING_DEADLINE_EXCEEDED"
    RESULT_NOT_RETAINABLE = "RESULT_NOT_RETAINABLE"
    PROFILE_UNAVAILABLE = "PROFILE_UNAVAILABLE"
    PROFILE_REQUIRED = "PROFILE_REQUIRED"
    WORKSPACE_REQUIRED = "WORKSPACE_REQUIRED"
    TASK_NOT_WAITING = "TASK_NOT_WAITING"
    TASK_TERMINAL = "TASK_TERMINAL"
    CLIENT_TASK_LIMIT_REACHED = "CLIENT_TASK_LIMIT_REACHED"
    PROFILE_QUOTA_REACHED = "PROFILE_QUOTA_REACHED"
    REQUEST_TOO_LARGE = "REQUEST_TOO_LARGE"
    REQUEST_TIMEOUT = "REQUEST_TIMEOUT"
    STORE_UNAVAILABLE = "STORE_UNAVAILABLE"
    INTERNAL = "INTERNAL"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    AUTH_RATE_LIMITED = "AUTH_RATE_LIMITED"
    PAUSED = "PAUSED"
    TASK_NOT_FOUND = "TASK_NOT_FOUND"
    TASK_NOT_CANCELABLE = "TASK_NOT_CANCELABLE"
    VERSION_NOT_SUPPORTED = "VERSION_NOT_SUPPORTED"
    CONTENT_TYPE_NOT_SUPPORTED = "CONTENT_TYPE_NOT_SUPPORTED"
    PUSH_NOTIFICATION_NOT_SUPPORTED = "PUSH_NOTIFICATION_NOT_SUPPORTED"
    UNSUPPORTED_OPERATION = "UNSUPPORTED_OPERATION"
    EXTENSION_SUPPORT_REQUIRED = "EXTENSION_SUPPORT_REQUIRED"
    EXTENDED_AGENT_CARD_NOT_CONFIGURED = "EXTENDED_AGENT_CARD_NOT_CONFIGURED"
    INVALID_AGENT_RESPONSE = "INVALID_AGENT_RESPONSE"


@dataclass(frozen=True, slots=True)
class Refusal:
    """`http_status` is a JSON-RPC reply's where it is not 200; `retry_after` seconds.

    Without a `message` the code's own sentence is said.
    """

    code: ErrorCode
    http_status: int | None = None
    retry_after: int | None = None
    message: str | None = None


# How soon a place may be free again is anyone's guess: a run takes seconds to minutes.
_LIMIT_RETRY: Final = 5

REASONS: Final[Mapping[Reason, Refusal]] = MappingProxyType(
    {
        Reason.WORKER_UNAVAILABLE: Refusal(
            ErrorCode.INTERNAL, 503, 30, "Nothing can be worked on at the moment."
        ),
        Reason.WAITING_CAPACITY_EXHAUSTED: Refusal(
            ErrorCode.INTERNAL,
            503,
            5,
            "Too many requests wait for a result. Try again, or use returnImmediately.",
        ),
        Reason.BLOCKING_DEADLINE_EXCEEDED: Refusal(
            ErrorCode.INTERNAL,
            504,
            None,
            "The task did not finish in time. It goes on; read it with GetTask.",
        ),
        Reason.RESULT_NOT_RETAINABLE: Refusal(
            ErrorCode.UNSUPPORTED_OPERATION,
            message="The result of this skill could not be kept for you.",
        ),
        Reason.PROFILE_UNAVAILABLE: Refusal(
            ErrorCode.UNSUPPORTED_OPERATION, message="This skill is not available."
        ),
        Reason.PROFILE_REQUIRED: Refusal(
            ErrorCode.INVALID_PARAMS,
            message="Name one of your skills in the request's metadata.",
        ),
        Reason.WORKSPACE_REQUIRED: Refusal(
            ErrorCode.UNSUPPORTED_OPERATION,
            message="This skill writes, and you have no workspace to write into.",
        ),
        Reason.TASK_NOT_WAITING: Refusal(
            ErrorCode.UNSUPPORTED_OPERATION,
            message="The task does not wait for a message.",
        ),
        Reason.TASK_TERMINAL: Refusal(
            ErrorCode.UNSUPPORTED_OPERATION,
            message="The task has ended. Send the message without a task id.",
        ),
        Reason.CLIENT_TASK_LIMIT_REACHED: Refusal(
            ErrorCode.INTERNAL,
            429,
            _LIMIT_RETRY,
            "You have as many active tasks as you may have.",
        ),
        Reason.PROFILE_QUOTA_REACHED: Refusal(
            ErrorCode.INTERNAL,
            429,
            _LIMIT_RETRY,
            "This skill has as many active tasks as it may have.",
        ),
        Reason.REQUEST_TOO_LARGE: Refusal(
            ErrorCode.INVALID_REQUEST, 413, None, "The request is too large."
        ),
        Reason.REQUEST_TIMEOUT: Refusal(
            ErrorCode.INVALID_REQUEST, 408, None, "The request took too long to arrive."
        ),
        Reason.STORE_UNAVAILABLE: Refusal(
            ErrorCode.INTERNAL, 503, 5, "The service is not available at the moment."
        ),
        Reason.INTERNAL: Refusal(ErrorCode.INTERNAL),
        Reason.UNAUTHENTICATED: Refusal(
            ErrorCode.INVALID_REQUEST, 401, None, "A valid bearer token is required."
        ),
        Reason.AUTH_RATE_LIMITED: Refusal(
            ErrorCode.INVALID_REQUEST,
            429,
            None,
            "Too many failed authentications. Try again later.",
        ),
        Reason.PAUSED: Refusal(
            ErrorCode.INTERNAL, 503, 30, "No new tasks are taken at the moment."
        ),
        Reason.TASK_NOT_FOUND: Refusal(ErrorCode.TASK_NOT_FOUND),
        Reason.TASK_NOT_CANCELABLE: Refusal(ErrorCode.TASK_NOT_CANCELABLE),
        Reason.VERSION_NOT_SUPPORTED: Refusal(ErrorCode.VERSION_NOT_SUPPORTED),
        Reason.CONTENT_TYPE_NOT_SUPPORTED: Refusal(
            ErrorCode.CONTENT_TYPE_NOT_SUPPORTED
        ),
        Reason.PUSH_NOTIFICATION_NOT_SUPPORTED: Refusal(
            ErrorCode.PUSH_NOTIFICATION_NOT_SUPPORTED
        ),
        Reason.UNSUPPORTED_OPERATION: Refusal(ErrorCode.UNSUPPORTED_OPERATION),
        Reason.EXTENSION_SUPPORT_REQUIRED: Refusal(
            ErrorCode.EXTENSION_SUPPORT_REQUIRED
        ),
        Reason.EXTENDED_AGENT_CARD_NOT_CONFIGURED: Refusal(
            ErrorCode.EXTENDED_AGENT_CARD_NOT_CONFIGURED
        ),
        Reason.INVALID_AGENT_RESPONSE: Refusal(ErrorCode.INVALID_AGENT_RESPONSE),
    }
)


def refuse(
    reason: Reason,
    *,
    message: str | None = None,
    metadata: Mapping[str, str] = MappingProxyType({}),
    violations: Sequence[FieldViolation] = (),
    http_status: int | None = None,
    retry_after: int | None = None,
) -> ProtocolError:
    """The error to raise; what is given here stands before the table's value."""
    row = REASONS[reason]
    return ProtocolError(
        code=row.code,
        message=message or row.message,
        reason=reason.value,
        metadata=metadata,
        violations=violations,
        http_status=http_status or row.http_status,
        retry_after=row.retry_after if retry_after is None else retry_after,
    )
