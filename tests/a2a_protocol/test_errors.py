from __future__ import annotations

import copy
import pickle

import pytest

from a2a_protocol import errors
from a2a_protocol.errors import (
    ERROR_TABLE,
    HOUSE_DOMAIN,
    PROTOCOL_DOMAIN,
    ErrorCode,
    FieldViolation,
    LocalError,
    ProtocolError,
    RemoteError,
)
from a2a_protocol.request_id import RequestId

ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest"
PROTOCOL_CODES = [code for code in ErrorCode if -32099 <= code <= -32000]
OTHER_CODES = [code for code in ErrorCode if code not in PROTOCOL_CODES]


def info(reason: str, domain: str, /, **metadata: str) -> dict[str, object]:
    return {
        "@type": ERROR_INFO,
        "reason": reason,
        "domain": domain,
        "metadata": metadata,
    }


def test_the_table_has_every_code() -> None:
    assert set(ERROR_TABLE) == set(ErrorCode)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (-32700, 400),
        (-32600, 400),
        (-32601, 404),
        (-32602, 400),
        (-32603, 500),
        (-32001, 404),
        (-32002, 400),
        (-32003, 400),
        (-32004, 400),
        (-32005, 400),
        (-32006, 500),
        (-32007, 400),
        (-32008, 400),
        (-32009, 400),
    ],
)
def test_has_the_http_status_of_1_0_1(code: int, status: int) -> None:
    assert ERROR_TABLE[ErrorCode(code)].http_json_status == status


def test_grpc_and_http_statuses_agree() -> None:
    """The HTTP status of each gRPC status, as google.rpc.Code documents it."""
    http_status = {
        "INVALID_ARGUMENT": 400,
        "FAILED_PRECONDITION": 400,
        "NOT_FOUND": 404,
        "INTERNAL": 500,
    }

    for row in ERROR_TABLE.values():
        assert http_status[row.grpc_status] == row.http_json_status


@pytest.mark.parametrize("code", PROTOCOL_CODES)
def test_the_protocols_reason_is_the_name_of_its_code(code: ErrorCode) -> None:
    assert ERROR_TABLE[code].reason == code.name


@pytest.mark.parametrize("code", OTHER_CODES)
def test_other_codes_have_no_reason_of_the_protocol(code: ErrorCode) -> None:
    assert ERROR_TABLE[code].reason is None


@pytest.mark.parametrize("code", PROTOCOL_CODES)
def test_names_the_protocols_reason(code: ErrorCode) -> None:
    """S14."""
    error = ProtocolError(code=code, metadata={"taskId": "x"})

    assert errors.error_details(error) == [info(code.name, PROTOCOL_DOMAIN, taskId="x")]


def test_adds_a_finer_reason_to_the_protocols() -> None:
    """S14: in the metadata of the first, and as a second ErrorInfo."""
    error = ProtocolError(
        code=ErrorCode.UNSUPPORTED_OPERATION,
        reason="TASK_TERMINAL",
        metadata={"state": "x"},
    )

    assert errors.error_details(error) == [
        info(
            "UNSUPPORTED_OPERATION",
            PROTOCOL_DOMAIN,
            state="x",
            reason="TASK_TERMINAL",
        ),
        info("TASK_TERMINAL", HOUSE_DOMAIN, state="x", reason="TASK_TERMINAL"),
    ]


def test_does_not_repeat_a_reason_that_is_the_protocols_own() -> None:
    """S14: a 415 has the reason CONTENT_TYPE_NOT_SUPPORTED."""
    error = ProtocolError(
        code=ErrorCode.CONTENT_TYPE_NOT_SUPPORTED,
        reason="CONTENT_TYPE_NOT_SUPPORTED",
    )

    assert errors.error_details(error) == [
        info("CONTENT_TYPE_NOT_SUPPORTED", PROTOCOL_DOMAIN)
    ]


@pytest.mark.parametrize("code", OTHER_CODES)
def test_repeats_our_reason_in_the_metadata_under_every_code(code: ErrorCode) -> None:
    """S14."""
    error = ProtocolError(code=code, reason="REQUEST_TOO_LARGE")

    assert errors.error_details(error) == [
        info("REQUEST_TOO_LARGE", HOUSE_DOMAIN, reason="REQUEST_TOO_LARGE")
    ]


def test_an_unnamed_internal_error_is_named_so() -> None:
    """S14."""
    error = ProtocolError(code=ErrorCode.INTERNAL, metadata={"errorId": "r-1"})

    assert errors.error_details(error) == [
        info("INTERNAL", HOUSE_DOMAIN, errorId="r-1", reason="INTERNAL")
    ]


@pytest.mark.parametrize(
    "code", [ErrorCode.PARSE, ErrorCode.INVALID_REQUEST, ErrorCode.METHOD_NOT_FOUND]
)
def test_leaves_data_out_where_there_is_nothing_to_say(code: ErrorCode) -> None:
    """S14."""
    error = ProtocolError(code=code, violations=[FieldViolation("id", "wrong")])

    assert errors.error_object(error) == {
        "code": int(code),
        "message": ERROR_TABLE[code].message,
    }


def test_lists_the_fields_of_invalid_params() -> None:
    """S14."""
    error = errors.invalid_fields([FieldViolation("a", "x"), FieldViolation("b", "y")])

    assert errors.error_object(error)["data"] == [
        {
            "@type": BAD_REQUEST,
            "fieldViolations": [
                {"field": "a", "description": "x"},
                {"field": "b", "description": "y"},
            ],
        }
    ]


def test_lists_the_fields_after_a_reason_of_ours() -> None:
    """S14, S30."""
    error = errors.invalid_params(
        "metadata", "Name one.", reason="PROFILE_REQUIRED", metadata={"skills": "a,b"}
    )

    reason, fields = errors.error_details(error)

    assert reason == info(
        "PROFILE_REQUIRED", HOUSE_DOMAIN, skills="a,b", reason="PROFILE_REQUIRED"
    )
    assert fields["@type"] == BAD_REQUEST


def test_the_sentence_names_the_first_field() -> None:
    error = errors.invalid_params("message.parts", "Too many.")

    assert error.message == "The parameters are not valid. message.parts: Too many."


def test_the_sentence_does_without_a_field() -> None:
    error = errors.invalid_params("", "Too many.")

    assert error.message == "The parameters are not valid. Too many."


@pytest.mark.parametrize("kind", [ProtocolError, LocalError, RemoteError])
@pytest.mark.parametrize(
    "again",
    [lambda error: pickle.loads(pickle.dumps(error)), copy.copy],  # noqa: S301
    ids=["pickled", "copied"],
)
def test_survives_being_pickled_and_copied(kind: type[ProtocolError], again) -> None:  # type: ignore[no-untyped-def]
    error = kind(
        code=ErrorCode.INTERNAL,
        message="Later.",
        reason="WORKER_UNAVAILABLE",
        metadata={"a": "b"},
        violations=[FieldViolation("a", "b")],
        http_status=503,
        retry_after=30,
        request_id=RequestId(json="7"),
    )

    twin = again(error)

    assert type(twin) is kind
    assert vars(twin) == vars(error)
    assert str(twin) == "Later."


def test_takes_the_sentence_of_the_table_when_none_is_given() -> None:
    assert str(ProtocolError(code=ErrorCode.TASK_NOT_FOUND)) == (
        ERROR_TABLE[ErrorCode.TASK_NOT_FOUND].message
    )
