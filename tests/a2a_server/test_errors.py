from __future__ import annotations

import pytest

from a2a_protocol.errors import ErrorCode, error_details
from a2a_server.errors import REASONS, Reason, refuse


def test_every_reason_has_its_row() -> None:
    """S90."""
    assert set(REASONS) == set(Reason)


@pytest.mark.parametrize(
    ("reason", "http_status", "code", "retry_after"),
    [
        (Reason.UNAUTHENTICATED, 401, -32600, None),
        (Reason.REQUEST_TIMEOUT, 408, -32600, None),
        (Reason.REQUEST_TOO_LARGE, 413, -32600, None),
        (Reason.AUTH_RATE_LIMITED, 429, -32600, None),
        (Reason.CLIENT_TASK_LIMIT_REACHED, 429, -32603, 5),
        (Reason.PROFILE_QUOTA_REACHED, 429, -32603, 5),
        (Reason.WORKER_UNAVAILABLE, 503, -32603, 30),
        (Reason.WAITING_CAPACITY_EXHAUSTED, 503, -32603, 5),
        (Reason.STORE_UNAVAILABLE, 503, -32603, 5),
        (Reason.PAUSED, 503, -32603, 30),
        (Reason.BLOCKING_DEADLINE_EXCEEDED, 504, -32603, None),
        (Reason.PROFILE_REQUIRED, None, -32602, None),
        (Reason.PROFILE_UNAVAILABLE, None, -32004, None),
        (Reason.RESULT_NOT_RETAINABLE, None, -32004, None),
        (Reason.WORKSPACE_REQUIRED, None, -32004, None),
        (Reason.TASK_NOT_WAITING, None, -32004, None),
        (Reason.TASK_TERMINAL, None, -32004, None),
        (Reason.TASK_NOT_FOUND, None, -32001, None),
        (Reason.TASK_NOT_CANCELABLE, None, -32002, None),
        (Reason.INTERNAL, None, -32603, None),
    ],
    ids=str,
)
def test_reason_has_code_status_and_waiting_time(
    reason: Reason, http_status: int | None, code: int, retry_after: int | None
) -> None:
    """S14."""
    error = refuse(reason)

    assert (error.http_status, error.code, error.retry_after) == (
        http_status,
        code,
        retry_after,
    )


def test_house_reason_stands_behind_the_protocols_own() -> None:
    """S14."""
    details = error_details(refuse(Reason.TASK_TERMINAL))

    assert [(d["domain"], d["reason"]) for d in details] == [
        ("a2a-protocol.org", "UNSUPPORTED_OPERATION"),
        ("nr-llm.netresearch.de", "TASK_TERMINAL"),
    ]
    assert all(d["metadata"] == {"reason": "TASK_TERMINAL"} for d in details)


def test_unknown_task_has_one_detail_without_metadata() -> None:
    """S64."""
    (detail,) = error_details(refuse(Reason.TASK_NOT_FOUND))

    assert detail["reason"] == "TASK_NOT_FOUND"
    assert detail["metadata"] == {}


def test_what_is_given_stands_before_the_table() -> None:
    error = refuse(
        Reason.AUTH_RATE_LIMITED, message="Later.", http_status=418, retry_after=7
    )

    assert error.code is ErrorCode.INVALID_REQUEST
    assert (error.message, error.http_status, error.retry_after) == ("Later.", 418, 7)
