"""What has to hold for the answer to any input whatever.

`judge` raises AssertionError, or says in a few words how the request ended. What the
right answer is, it finds out without the product's code wherever that can be said: who
has to answer, whether the caller is known, whether the body is JSON, which id is echoed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from a2a_protocol import proto_json
from a2a_protocol.errors import ERROR_TABLE, ErrorCode
from a2a_protocol.methods import METHODS
from a2a_server import executor
from a2a_server.errors import REASONS, Reason
from tests.fuzz import reading
from tests.fuzz.inputs import CARD, ENDPOINT, HOST

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.asgi_peer import Answer
    from tests.fuzz.inputs import Input, Names

BODY_LIMIT: Final = 65_536
OVERDUE: Final = "503 after the bound of a call"

# None of them stands in an input, so that one in an answer is the product's own.
CANARIES: Final = [
    b"Traceback",
    b"Error(",
    b"Exception",
    b"object at 0x",
    b"NoneType",
    b"SELECT ",
    b"INSERT ",
    b"UPDATE ",
    b"psycopg",
    b"sqlite",
    b"django",
    b"pydantic",
    b"redis",
    b"validation error",
    b"a2a_server",
    b"a2a_protocol",
    b"agent_runs",
    b"site-packages",
    b".py",
    b"tests-only",
]
# Pages of the framework may name it.
_ELSEWHERE_CANARIES: Final = [b"Traceback", b"SELECT ", b"psycopg", b"site-packages"]

_NAMED_5XX: Final = {
    Reason.WORKER_UNAVAILABLE,
    Reason.WAITING_CAPACITY_EXHAUSTED,
    Reason.BLOCKING_DEADLINE_EXCEEDED,
}
_NEVER: Final = {Reason.INTERNAL, Reason.STORE_UNAVAILABLE}
_STRANGERS: Final = {Reason.UNAUTHENTICATED, Reason.AUTH_RATE_LIMITED}
# Told before the body is read, so that no id can be known.
_EARLY: Final = {401, 405, 408, 413, 415}
_PLAIN_TYPES: Final = {b"application/json", b"application/a2a+json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`task_id` is the task that this answer says exists because of it."""

    words: str
    task_id: str = ""


@dataclass(slots=True)
class Tally:
    outcomes: Counter[str] = field(default_factory=Counter)

    @property
    def inputs(self) -> int:
        return self.outcomes.total()

    def count(self, outcome: str) -> None:
        self.outcomes[outcome] += 1

    def lines(self) -> Iterable[str]:
        for outcome, count in sorted(self.outcomes.items()):
            yield f"{count:9,d}  {outcome}"


def judge(
    given: Input, answer: Answer, names: Names, *, seconds: float = 0.0
) -> Outcome:
    """`seconds`: how long it took. What took too long to be tried may be told so."""
    if seconds >= executor.CALL_SECONDS and answer.status == 503 and is_ours(answer):
        return Outcome(words=_judge_overdue(answer))
    whose = addressee(given)
    if whose == "elsewhere" or (whose == "unclear" and not is_ours(answer)):
        return Outcome(words=judge_elsewhere(answer))
    if "/.well-known/" in given.path and answer.status in {200, 304}:
        return Outcome(words=_judge_card(given, answer))
    words, message = judge_reply(answer)
    _judge_stage(given, answer, message, names)
    _judge_id(given, answer, message)
    return Outcome(words=words, task_id=_task_id(given, answer, message))


# --- Who has to answer ----------------------------------------------------------------


def addressee(given: Input) -> str:
    """`ours`, `elsewhere`, or `unclear` where it takes the product's rules to say."""
    hosts = [host.lower() for host in given.header(b"host")]
    if any(name.startswith(b"x-forwarded") for name, _ in given.headers):
        return "unclear"
    if given.path not in {ENDPOINT, ENDPOINT + "/", CARD, ENDPOINT + CARD}:
        return "elsewhere"
    if given.scheme != "https" or len(hosts) != 1:
        return "elsewhere"
    ours = {HOST.encode(), f"{HOST}:443".encode()}
    return "ours" if hosts[0] in ours else "elsewhere"


def is_ours(answer: Answer) -> bool:
    return "x-request-id" in answer.headers


def judge_elsewhere(answer: Answer) -> str:
    assert answer.status < 500
    assert not is_ours(answer)
    _refuse_canaries(answer.body, _ELSEWHERE_CANARIES)
    return f"{answer.status} elsewhere"


def _judge_card(given: Input, answer: Answer) -> str:
    assert given.method in {"GET", "HEAD"}
    _refuse_canaries(answer.body, CANARIES)
    assert answer.headers["etag"].startswith('"')
    if answer.status == 304:
        assert answer.body == b""
        return "304 card"
    assert answer.headers["content-type"] == "application/json"
    assert reading.read_answer(answer.body)["supportedInterfaces"]
    return "200 card"


# --- A JSON-RPC reply by itself -------------------------------------------------------


def judge_reply(answer: Answer) -> tuple[str, dict[str, Any]]:
    """How it ended, and the reply; whatever was asked."""
    headers = answer.headers
    assert headers["content-type"] == "application/json"
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-request-id"]
    assert int(headers["content-length"]) == len(answer.body)
    _refuse_canaries(answer.body, CANARIES)
    message = reading.read_answer(answer.body)
    assert set(message) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
    assert message["jsonrpc"] == "2.0"
    if "result" in message:
        assert answer.status == 200
        return "200 result", message
    return _judge_error(answer, message["error"]), message


def _judge_overdue(answer: Answer) -> str:
    """A machine that stood still, or has no time for a thread."""
    _refuse_canaries(answer.body, CANARIES)
    (detail,) = [d for d in _details(reading.read_answer(answer.body)) if "reason" in d]
    assert detail["reason"] in {*_NAMED_5XX, Reason.STORE_UNAVAILABLE}
    return OVERDUE


def _refuse_canaries(body: bytes, canaries: list[bytes]) -> None:
    assert [canary for canary in canaries if canary in body] == []


def _judge_error(answer: Answer, error: dict[str, Any]) -> str:
    code = ErrorCode(int(error["code"]))
    assert error["message"]
    assert isinstance(error["message"], str)
    details = error.get("data", [])
    assert all(detail["@type"].startswith("type.googleapis.com/") for detail in details)
    named = [detail["reason"] for detail in details if "reason" in detail]
    reason = Reason(named[-1]) if named else None
    _judge_status(answer, code, reason)
    words = reason or code.name
    return f"{answer.status} {int(code)} {words}"


def _judge_status(answer: Answer, code: ErrorCode, reason: Reason | None) -> None:
    """Code and status are those of the reason; without one there is no odd status."""
    assert reason not in _NEVER
    if reason is None:
        assert ERROR_TABLE[code].reason is None
        assert answer.status in {200, 405}
        assert (answer.status == 405) == ("allow" in answer.headers)
        return
    row = REASONS[reason]
    statuses = {row.http_status or 200}
    if reason is Reason.CONTENT_TYPE_NOT_SUPPORTED:
        statuses = {200, 415}
    assert (code, answer.status in statuses) == (row.code, True)
    assert answer.status < 500 or reason in _NAMED_5XX
    if answer.status in {429} or reason in _NAMED_5XX - {
        Reason.BLOCKING_DEADLINE_EXCEEDED
    }:
        assert int(answer.headers["retry-after"]) > 0
    if answer.status == 401:
        assert answer.headers["www-authenticate"].startswith('Bearer realm="a2a"')


# --- Reply and request together -------------------------------------------------------


def _judge_stage(
    given: Input, answer: Answer, message: dict[str, Any], names: Names
) -> None:
    """The first step that refuses is the one that answers (S10)."""
    is_card = "/.well-known/" in given.path
    allowed = {"GET", "HEAD"} if is_card else {"POST"}
    assert (answer.status == 405) == (given.method not in allowed)
    if answer.status == 405:
        return
    reasons = {detail.get("reason") for detail in _details(message)}
    if (known := _is_known(given, names)) is not None:
        assert known == reasons.isdisjoint(_STRANGERS)
    if not reasons.isdisjoint(_STRANGERS):
        return
    if (plain := _is_plain_json(given)) is not None:
        assert (answer.status != 415) == plain
    if answer.status == 415:
        return
    if len(given.body) > BODY_LIMIT:
        assert answer.status == 413
    if answer.status == 408:
        assert given.stalls


def _details(message: dict[str, Any]) -> list[dict[str, Any]]:
    details: list[dict[str, Any]] = message.get("error", {}).get("data", [])
    return details


def _is_known(given: Input, names: Names) -> bool | None:
    """Whether the caller has a valid token; None where that takes a closer look."""
    values = given.header(b"authorization")
    texts = [token.encode() for token in names.tokens]
    if len(values) == 1 and values[0] in {b"Bearer " + text for text in texts}:
        return True
    if any(text in value for value in values for text in texts):
        return None
    return False


def _is_plain_json(given: Input) -> bool | None:
    """Whether the body is said to be JSON; None where that takes a closer look."""
    types = given.header(b"content-type")
    if given.header(b"content-encoding"):
        return None
    if len(types) == 1 and types[0].lower() in _PLAIN_TYPES:
        return True
    if not any(b"json" in text.lower() for text in types):
        return False
    return None


def _judge_id(given: Input, answer: Answer, message: dict[str, Any]) -> None:
    reasons = {detail.get("reason") for detail in _details(message)}
    if answer.status in _EARLY or not reasons.isdisjoint(_STRANGERS):
        assert message["id"] is None
        return
    code = int(message.get("error", {}).get("code", 0))
    read = reading.read_body(given.body)
    assert (code == ErrorCode.PARSE) == (not read.is_json)
    assert message["id"] == read.id
    # An integer is echoed as one, a text as a text.
    assert type(message["id"]) is type(read.id)
    if not read.is_json:
        return
    if read.is_repeating or not read.is_valid_id:
        assert code == ErrorCode.INVALID_REQUEST
    if code != ErrorCode.INVALID_REQUEST:
        assert isinstance(read.value, dict)
        assert read.value["jsonrpc"] == "2.0"


def _task_id(given: Input, answer: Answer, message: dict[str, Any]) -> str:
    """Of a reply that says that a task exists since then."""
    if "error" in message:
        found = [
            detail["metadata"]["taskId"]
            for detail in _details(message)
            if detail.get("reason") == Reason.BLOCKING_DEADLINE_EXCEEDED
        ]
        return str(found[-1]) if found else ""
    method = reading.read_body(given.body).value["method"]
    result = message["result"]
    _judge_result(method, answer.body, result)
    if method != "SendMessage":
        return ""
    (kind,) = result
    return str(result["task"]["id"] if kind == "task" else result["message"]["taskId"])


def _judge_result(method: str, body: bytes, result: Any) -> None:
    """The result reads as the method's response."""
    response_type = METHODS[method].response_type
    assert response_type
    if method != "ListTasks":
        # A request of the greatest depth is a little deeper in an answer.
        proto_json.read(response_type, json.loads(body)["result"])
        return
    assert len(result["tasks"]) <= int(result["pageSize"]) <= 100
    assert isinstance(result["nextPageToken"], str)
    assert re.fullmatch(r"\d+", result["totalSize"])
