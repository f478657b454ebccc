from __future__ import annotations

import json
from typing import Any

import pytest

from a2a_client import replies
from a2a_client.replies import Accepted, HttpAnswer, NotAccepted, Unknown
from a2a_protocol.errors import ErrorCode
from a2a_protocol.jsonrpc_client import ReplyError
from egress.errors import EgressError, Reason

ID = "call-1"
HTML = b"<html><title>Sign in</title>"
PROTOCOL_REFUSALS = [-32700, -32600, -32601, -32602, *range(-32009, -32000)]


def body(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": ID} | members).encode()


def error(code: int, message: str = "no", **members: Any) -> bytes:
    return body(error={"code": code, "message": message} | members)


def judged(status: int, content: bytes = b"", **headers: str) -> replies.Judgement:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = HttpAnswer(status=status, headers=named, body=content)
    return replies.judge(answer, request_id=ID, method="SendMessage")


def failed(status: int, content: bytes = b"", **headers: str) -> NotAccepted | Unknown:
    judgement = judged(status, content, **headers)
    assert not isinstance(judgement, Accepted)
    return judgement


@pytest.mark.parametrize("status", [200, 201, 202, 299])
def test_a_result_is_accepted(status: int) -> None:
    assert judged(status, body(result={"task": 1})) == Accepted(result={"task": 1})


def test_the_refusals_are_all_codes_of_the_protocol_but_one() -> None:
    assert set(PROTOCOL_REFUSALS) == set(ErrorCode) - {ErrorCode.INTERNAL}


@pytest.mark.parametrize("status", [200, 302, 400, 401, 404, 408, 500, 502, 503])
@pytest.mark.parametrize("code", PROTOCOL_REFUSALS)
def test_a_refusal_of_the_protocol_counts_at_any_status(code: int, status: int) -> None:
    """C7."""
    found = failed(status, error(code))

    assert isinstance(found, NotAccepted)
    is_said_by_status = status == 401 and code == ErrorCode.INVALID_REQUEST
    assert found.code == ("http_401" if is_said_by_status else f"rpc{code}")


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("code", [-32600, -32000, 42])
def test_a_refused_credential_is_told_from_the_status(status: int, code: int) -> None:
    """C7."""
    found = failed(status, error(code))

    assert isinstance(found, NotAccepted)
    assert found.code == f"http_{status}"
    assert "credential is missing or does not suffice" in found.sentence
    assert f"error {code} with HTTP {status}" in found.detail


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (429, -32603, NotAccepted),
        (503, -32603, NotAccepted),
        (307, -32603, NotAccepted),
        (200, -32603, Unknown),
        (400, -32603, Unknown),
        (500, -32603, Unknown),
        (504, -32603, Unknown),
        # Codes of the agent's own, or of a release that is not known yet.
        (200, -32000, Unknown),
        (200, -32010, Unknown),
        (200, -1, Unknown),
        (200, 0, Unknown),
        (200, 42, Unknown),
        (408, -32000, Unknown),
        (500, -32000, Unknown),
        (503, -32000, Unknown),
        # The status refuses although the code says nothing.
        (302, -32000, NotAccepted),
        (401, -32000, NotAccepted),
        (422, 42, NotAccepted),
    ],
)
def test_other_codes_are_unknown_unless_the_status_refuses(
    status: int, code: int, kind: type
) -> None:
    """C7."""
    assert isinstance(judged(status, error(code)), kind)


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (300, NotAccepted, "http_300"),
        (302, NotAccepted, "http_302"),
        (307, NotAccepted, "http_307"),
        (308, NotAccepted, "http_308"),
        (400, NotAccepted, "http_400"),
        (401, NotAccepted, "http_401"),
        (404, NotAccepted, "http_404"),
        (405, NotAccepted, "http_405"),
        (429, NotAccepted, "http_429"),
        (499, NotAccepted, "http_499"),
        (408, Unknown, "http_408"),
        (500, Unknown, "http_500"),
        (502, Unknown, "http_502"),
        (503, Unknown, "http_503"),
        (504, Unknown, "http_504"),
        (599, Unknown, "http_599"),
        (600, Unknown, "http_600"),
        (199, Unknown, "http_199"),
        (200, Unknown, "unreadable"),
        (204, Unknown, "unreadable"),
    ],
)
@pytest.mark.parametrize("content", [b"", HTML, b'{"detail":"x"}', b"null"])
def test_without_a_reply_the_status_decides(
    status: int, kind: type, code: str, content: bytes
) -> None:
    """C7."""
    found = failed(status, content)

    assert isinstance(found, kind)
    assert found.code == code


@pytest.mark.parametrize(
    "content",
    [
        body(result={}, id="other"),
        body(result={}, id=None),
        body(result=None),
        body(result="text"),
        body(),
        body(result={})[:-1],
        b'{"id":"call-1"}\n{"id":"call-1"}',
        b"\x1f\x8b\x08\x00damaged",
    ],
)
def test_a_success_that_is_no_reply_is_unknown(content: bytes) -> None:
    """C4, B109."""
    found = judged(200, content, content_type="application/json")

    assert isinstance(found, Unknown)
    assert found.code == "unreadable"


@pytest.mark.parametrize("status", [302, 404, 500])
def test_a_result_under_a_status_of_failure_is_unknown(status: int) -> None:
    found = judged(status, body(result={"task": 1}))

    assert isinstance(found, Unknown)
    assert found.code == f"http_{status}"
    assert f"HTTP {status}" in found.sentence


def test_an_administrator_is_told_status_type_and_beginning() -> None:
    """B109."""
    found = failed(502, b"<html>\n<h1>Bad\x00 gateway</h1>", content_type="text/html")

    assert found.sentence == (
        "The agent failed with HTTP 502. Whether it began is not known."
    )
    assert found.detail == (
        "SendMessage: HTTP 502, text/html, it begins «<html> <h1>Bad gateway</h1>». "
        "The body cannot be read as JSON."
    )


def test_an_empty_answer_is_told_as_such() -> None:
    assert failed(204).detail == (
        "SendMessage: HTTP 204, no content type, nothing in it. "
        "The body cannot be read as JSON."
    )


def test_the_excerpt_is_short_and_stays_away_from_the_model() -> None:
    found = failed(200, b"secret " * 1000, content_type="x" * 1000)

    assert "secret" not in found.sentence + found.said
    assert len(found.detail) < 400


def test_the_words_of_an_error_are_kept_apart() -> None:
    """B107, B109."""
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "TOO_LONG"}
    found = failed(400, error(-32602, "The text\nis too long.", data=[info]))

    assert (
        found.sentence == "The agent refused the request (error -32602 with HTTP 400)."
    )
    assert found.said == "The text is too long."
    assert found.detail == (
        "SendMessage: error -32602 with HTTP 400 [TOO_LONG]: «The text is too long.»."
    )


def test_an_error_without_a_message_says_so() -> None:
    found = failed(200, error(-32603, ""))

    assert found.said == ""
    assert found.sentence == (
        "The agent failed (error -32603). Whether it began is not known."
    )
    assert found.detail == "SendMessage: error -32603, without a message."


def test_a_redirect_is_named() -> None:
    assert failed(307, location="https://elsewhere.test/").sentence == (
        "The agent sent the request elsewhere (HTTP 307); redirects are not followed."
    )


def test_an_error_in_a_stream_is_judged_as_with_http_200() -> None:
    found = replies.of_error(ReplyError(code=-32001), method="SubscribeToTask")

    assert isinstance(found, NotAccepted)
    assert found.retry_after is None


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("30", 30),
        (" 0 ", 0),
        ("", None),
        ("-1", None),
        ("1.5", None),
        ("٣", None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None),
        ("9999999999", None),
    ],
)
@pytest.mark.parametrize("content", [HTML, error(-32603)])
def test_reads_how_long_to_wait(
    header: str, seconds: int | None, content: bytes
) -> None:
    assert failed(503, content, retry_after=header).retry_after == seconds


@pytest.mark.parametrize(
    ("status", "content_type", "expected"),
    [
        (200, "text/event-stream", True),
        (200, "Text/Event-Stream ; charset=utf-8", True),
        (200, "application/json", False),
        (200, "application/x-ndjson", False),
        (200, "text/plain", False),
        (200, "", False),
        (400, "text/event-stream", False),
        (405, "text/html", False),
    ],
)
def test_tells_a_stream_from_a_single_reply(
    status: int, content_type: str, expected: bool
) -> None:
    """B107."""
    headers = {"content-type": content_type} if content_type else {}
    answer = HttpAnswer(status=status, headers=headers, body=b"")

    assert replies.is_event_stream(answer) is expected


def test_what_never_left_may_be_tried_again() -> None:
    """C7."""
    error = EgressError(Reason.DNS_FAILED, "The name agent.test was not found.")

    assert replies.of_egress_error(error) == NotAccepted(
        code="dns_failed", sentence="The name agent.test was not found."
    )


def test_what_may_have_left_is_unknown() -> None:
    """C7."""
    error = EgressError(Reason.DEADLINE, "No answer in time.", has_left=True)

    assert replies.of_egress_error(error) == Unknown(
        code="deadline",
        sentence="No answer in time. Whether the agent began is not known.",
    )


def test_an_event_that_is_no_reply_is_unknown() -> None:
    """C4."""
    found = replies.unreadable_event("It has another id.", method="SendMessage")

    assert found.code == "unreadable"
    assert found.detail.endswith("no reply. It has another id.")
