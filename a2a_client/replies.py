"""What an HTTP answer means for a request that is sent at most once (C4, C7).

    Accepted       the agent gave a result
    NotAccepted    it took nothing on; the model may try again
    Unknown        nobody knows; never sent again by anyone

The body is looked at first: an error of JSON-RPC says more than the status it comes with,
and comes with any. Only where its code says no more than «no» do 401 and 403 name the
reason. The content type is not asked, since agents write anything there.

Three texts are kept apart. `sentence` is for models and clients and is ours alone.
`said` is what the agent's own error told its caller, in one line. `detail` is for
administrators: status, content type and an excerpt, or the agent's error in full.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from a2a_client import words
from a2a_protocol.errors import ErrorCode, RemoteError
from a2a_protocol.jsonrpc_client import Reply, read_reply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_protocol.json_text import JSONValue
    from a2a_protocol.jsonrpc_client import ReplyError
    from egress.errors import EgressError

LONGEST_SAID: Final = 300

# Every code of the protocol but «internal error» is a refusal before any work.
_REFUSALS: Final = frozenset(ErrorCode) - {ErrorCode.INTERNAL}
# With these an internal error says that the agent is too busy.
_TOO_BUSY: Final = frozenset({429, 503})
_REQUEST_TIMEOUT: Final = 408
# Beside these a code that only says «no» says less than the status.
_REFUSING_CREDENTIALS: Final = frozenset({401, 403})
_SAY_WHY: Final = _REFUSALS - {ErrorCode.INVALID_REQUEST}
_EVENT_STREAM: Final = "text/event-stream"
_SECONDS: Final = re.compile(r"[0-9]{1,9}")
_LONGEST_TYPE: Final = 80


def rpc_code(code: int) -> str:
    """The code of a judgement about an error of JSON-RPC."""
    return f"rpc{int(code)}"


def http_code(status: int) -> str:
    """The code of a judgement about an HTTP status."""
    return f"http_{status}"


TASK_NOT_FOUND: Final = rpc_code(ErrorCode.TASK_NOT_FOUND)
CREDENTIAL_REFUSED: Final = frozenset(map(http_code, _REFUSING_CREDENTIALS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """`result` is the reply's, an object that is not read yet."""

    result: JSONValue


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    """`retry_after` is in seconds, None where the agent names none."""

    code: str
    sentence: str
    detail: str = ""
    said: str = ""
    retry_after: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotAccepted(_Failure):
    """The agent took nothing on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown(_Failure):
    """Nobody knows whether the agent took it on."""


Judgement = Accepted | NotAccepted | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """An answer that was read to its end. Names of headers are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def judge(answer: HttpAnswer, *, request_id: str, method: str) -> Judgement:
    try:
        reply = read_reply(answer.body, request_id)
    except RemoteError as error:
        return _without_reply(answer, method, problem=error.message)
    if reply.error is not None:
        return of_error(reply.error, method=method, answer=answer)
    return _with_result(answer, method, reply)


def of_error(
    error: ReplyError, *, method: str, answer: HttpAnswer | None = None
) -> NotAccepted | Unknown:
    """What an error of JSON-RPC means; without an answer it came in a stream."""
    status = answer.status if answer else 200
    is_refusal = _is_refusal(error.code, status)
    kind = NotAccepted if is_refusal else Unknown
    what = f"error {error.code}" + (f" with HTTP {status}" if status != 200 else "")
    code = rpc_code(error.code)
    if not is_refusal:
        sentence = f"The agent failed ({what}). Whether it began is not known."
    elif status in _REFUSING_CREDENTIALS and error.code not in _SAY_WHY:
        code, sentence = http_code(status), _refused(status)
    else:
        sentence = f"The agent refused the request ({what})."
    return kind(
        code=code,
        sentence=sentence,
        detail=_error_in_full(error, method, what),
        said=words.one_line(error.message, LONGEST_SAID),
        retry_after=_retry_after(answer) if answer else None,
    )


def unreadable_event(problem: str, *, method: str) -> Unknown:
    """What an event means that is no reply to the request; `problem` says why."""
    return Unknown(
        code="unreadable",
        sentence="The agent's stream cannot be read. Whether it goes on is not known.",
        detail=f"{method}: an event of the stream is no reply. {problem}",
    )


def of_egress_error(error: EgressError) -> NotAccepted | Unknown:
    """Its sentence names the host and nothing that the other side said."""
    if error.has_left:
        sentence = f"{error.sentence} Whether the agent began is not known."
        return Unknown(code=str(error.reason), sentence=sentence)
    return NotAccepted(code=str(error.reason), sentence=error.sentence)


def is_event_stream(answer: HttpAnswer) -> bool:
    """Whether events follow; if not, the body is one reply, to be judged (B107)."""
    return _is_success(answer.status) and _media_type(answer) == _EVENT_STREAM


def _is_refusal(code: int, status: int) -> bool:
    if code in _REFUSALS or 300 <= status < 400:
        return True
    if code == ErrorCode.INTERNAL:
        return status in _TOO_BUSY
    return _is_refusing_status(status)


def _is_refusing_status(status: int) -> bool:
    return 300 <= status < 500 and status != _REQUEST_TIMEOUT


def _is_success(status: int) -> bool:
    return 200 <= status < 300


def _with_result(answer: HttpAnswer, method: str, reply: Reply) -> Judgement:
    if _is_success(answer.status):
        return Accepted(result=reply.result)
    # The status denies what the body says, so nothing is sure.
    return Unknown(
        code=http_code(answer.status),
        sentence=f"The agent answered with a result and HTTP {answer.status}. "
        "Whether it began is not known.",
        detail=_shown(
            answer, method, "A result came with a status that is no success."
        ),
    )


def _without_reply(answer: HttpAnswer, method: str, *, problem: str) -> Judgement:
    detail = _shown(answer, method, problem)
    wait = _retry_after(answer)
    code = http_code(answer.status)
    if _is_refusing_status(answer.status):
        sentence = _refused(answer.status)
        return NotAccepted(
            code=code, sentence=sentence, detail=detail, retry_after=wait
        )
    if _is_success(answer.status):
        code = "unreadable"
        what = "The agent's answer cannot be read"
    else:
        what = f"The agent failed with HTTP {answer.status}"
    sentence = f"{what}. Whether it began is not known."
    return Unknown(code=code, sentence=sentence, detail=detail, retry_after=wait)


def _refused(status: int) -> str:
    if status < 400:
        return (
            f"The agent sent the request elsewhere (HTTP {status}); "
            "redirects are not followed."
        )
    if status in _REFUSING_CREDENTIALS:
        return (
            f"The agent refused the request with HTTP {status}: its credential is missing "
            "or does not suffice. An administrator has to enter another one."
        )
    return f"The agent refused the request with HTTP {status}."


def _shown(answer: HttpAnswer, method: str, problem: str) -> str:
    kind = words.one_line(answer.headers.get("content-type", ""), _LONGEST_TYPE)
    begin = words.excerpt(answer.body)
    said = f"it begins «{begin}»" if begin else "nothing in it"
    told = kind or "no content type"
    return f"{method}: HTTP {answer.status}, {told}, {said}. {problem}"


def _error_in_full(error: ReplyError, method: str, what: str) -> str:
    reasons = f" [{', '.join(error.reasons)}]" if error.reasons else ""
    message = words.one_line(error.message, words.LONGEST_EXCERPT)
    said = f": «{message}»" if message else ", without a message"
    return f"{method}: {what}{reasons}{said}."


def _media_type(answer: HttpAnswer) -> str:
    header = answer.headers.get("content-type", "")
    return header.partition(";")[0].strip().lower()


def _retry_after(answer: HttpAnswer) -> int | None:
    # A date is not taken: no two clocks agree.
    text = answer.headers.get("retry-after", "").strip()
    return int(text) if _SECONDS.fullmatch(text) else None
