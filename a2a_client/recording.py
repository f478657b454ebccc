"""From what an agent answered to the row of its call (C6–C8).

Each function uses the ORM, makes one move of `ledger.py`, or none where another process
was faster, and tells nobody: whoever waits reads the row.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING

from a2a_client import ledger, outcomes
from a2a_client.outcomes import Asks, Ended, Finished, NeedsAuth
from a2a_client.replies import Accepted, NotAccepted, Unknown, rpc_code
from a2a_protocol.errors import ErrorCode, RemoteError

if TYPE_CHECKING:
    from a2a_client.accumulating import Cut, TooMuch
    from a2a_client.models import RemoteCall
    from a2a_client.outcomes import Outcome
    from a2a_client.replies import Judgement

logger = logging.getLogger(__name__)

AUTH_REQUIRED = "auth_required"
NAMELESS = Unknown(
    code="no_task_id",
    sentence="The agent took the task and did not name it in a way that can be asked "
    "for, so nobody knows what becomes of it. It is not sent again.",
)
UNREADABLE = Unknown(
    code="unreadable",
    sentence="The agent's answer could not be read. Whether the agent began is not "
    "known. It is not sent again.",
)
# The task has ended there, or is not known: it asks nothing any more.
_TAKES_NO_ANSWER = frozenset(
    map(
        rpc_code,
        (
            ErrorCode.TASK_NOT_FOUND,
            ErrorCode.TASK_NOT_CANCELABLE,
            ErrorCode.UNSUPPORTED_OPERATION,
        ),
    )
)
TOO_MUCH = "The agent told more than is read here."

_FIRST_POLL = timedelta(seconds=2)
_LONGEST_WAIT = timedelta(seconds=60)
_LONGEST_ASKED = timedelta(minutes=10)
# As the columns hold them; specification and SDKs set no bound.
LONGEST_ID = 500


def poll_delay(polls: int, *, asked: int | None = None) -> timedelta:
    """How long to wait after so many polls that told nothing new (C6).

    `asked` are seconds that the agent wants to be left alone; they only lengthen it.
    """
    usual = min(_FIRST_POLL * (1 << min(polls, 6)), _LONGEST_WAIT)
    return max(usual, min(timedelta(seconds=asked or 0), _LONGEST_ASKED))


def reply_to_message(call: RemoteCall, reply: Judgement) -> bool:
    """What came of a message that has just been sent."""
    if isinstance(reply, Accepted):
        return _accepted(call, reply)
    if isinstance(reply, NotAccepted):
        if call.remote_task_id and reply.code not in _TAKES_NO_ANSWER:
            said = f"The agent says: {reply.said}" if reply.said else reply.sentence
            return ledger.asks_again(call, said)
        return ledger.not_accepted(call, **_why(reply))
    return _unknown(call, reply)


def _accepted(call: RemoteCall, reply: Accepted) -> bool:
    try:
        found, notes = outcomes.of_send_result(
            reply.result, answered=ledger.answered_mark(call)
        )
    except RemoteError:
        return _unknown(call, UNREADABLE)
    note(call, notes)
    return outcome(call, found)


def outcome(call: RemoteCall, found: Outcome) -> bool:
    """What is known of the task by now."""
    if not take_names(call, found):
        return _unknown(call, NAMELESS)
    if isinstance(found, Finished):
        return ledger.completed(call, found.text)
    if isinstance(found, Ended):
        code = found.state.removeprefix("TASK_STATE_").lower()
        return _failed(call, code, found)
    if isinstance(found, Asks):
        return ledger.asks(call, found)
    if isinstance(found, NeedsAuth):
        logger.warning("agent asks for authorization", extra=_facts(call))
        return _failed(call, AUTH_REQUIRED, found)
    return ledger.working(call, due_in=poll_delay(0))


def _failed(call: RemoteCall, code: str, found: Ended | NeedsAuth) -> bool:
    return ledger.failed(call, code=code, sentence=found.sentence, text=found.said)


def stream_ended(call: RemoteCall, found: Outcome | Cut | TooMuch) -> bool:
    """What a stream came to that had brought an event; a cut one is polled (B106)."""
    if not isinstance(found, outcomes.OUTCOMES):
        if not take_names(call, found):
            return _unknown(call, NAMELESS)
        if sentence := getattr(found, "sentence", ""):
            return ledger.failed(call, code="too_much", sentence=sentence, cancel=True)
        return ledger.working(call, due_in=timedelta())
    return outcome(call, found)


def take_names(call: RemoteCall, found: Outcome | Cut | TooMuch) -> bool:
    """Take the ids that the agent gave; False when they cannot be used later (B112).

    A task keeps the id that it was given first: an agent that names another one later
    speaks of something else. An answer needs no context: one that cannot be kept is left
    out, and the agent knows it by the task.
    """
    needs_task = isinstance(found, Asks | outcomes.Working) or not isinstance(
        found, outcomes.OUTCOMES
    )
    if len(found.task_id) <= LONGEST_ID:
        call.remote_task_id = call.remote_task_id or found.task_id
    if found.context_id:
        is_usable = len(found.context_id) <= LONGEST_ID
        call.context_id = found.context_id if is_usable else ""
    if isinstance(found, outcomes.OUTCOMES):
        call.remote_state = getattr(found, "state", "") or type(found).__name__.lower()
    return bool(call.remote_task_id) or not needs_task


def note(call: RemoteCall, notes: tuple[str, ...]) -> None:
    """What was passed over in an answer (C4)."""
    if notes:
        logger.info("agent's answer read in part", extra=_facts(call, notes=notes))


def _unknown(call: RemoteCall, reply: Unknown) -> bool:
    return ledger.unknown(call, **_why(reply))


def _why(reply: NotAccepted | Unknown) -> dict[str, str]:
    return {
        "code": reply.code,
        "sentence": reply.sentence,
        "text": reply.said,
        "detail": reply.detail,
    }


def _facts(call: RemoteCall, **more: object) -> dict[str, object]:
    return {"agent": call.agent.identifier, "call_id": str(call.pk), **more}
