"""The events of one streamed answer, as they come (B103–B107).

Until the first event an end says what a whole answer would say: the request was refused,
or nobody knows. After it the agent has taken the request on, and no end decides anything
more: what became of the task has to be asked for.
"""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from a2a_client import replies
from a2a_client.replies import Accepted, NotAccepted, Unknown
from a2a_protocol.errors import RemoteError
from a2a_protocol.sse import EventParser
from egress.errors import EgressError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from a2a_client.outgoing import Outgoing
    from a2a_client.replies import Judgement
    from a2a_protocol.json_text import JSONValue
    from a2a_protocol.sse import Event

logger = logging.getLogger(__name__)

# The format's own name for events that name none.
_UNNAMED: Final = "message"

_NO_EVENT: Final = Unknown(
    code="no_event",
    sentence="The agent ended its answer without a word. Whether it began is not known.",
)
_TOO_LARGE: Final = Unknown(
    code="unreadable",
    sentence="The agent's answer is too large. Whether the agent began is not known.",
)


class Ending(StrEnum):
    """How a stream ended that brought an event; it tells nothing about the task."""

    CLOSED = "closed"
    CUT = "cut"


Ended: TypeAlias = Ending | NotAccepted | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEvent:
    """`result` is an object that is not read yet; `id` is the event's own, or ""."""

    id: str = ""
    result: JSONValue


class Stream:
    """An async iterator of `StreamEvent`; it raises nothing of its own."""

    def __init__(self) -> None:
        self._events: deque[StreamEvent] = deque()
        self._ended: Ended | None = None
        self._has_begun = False

    @classmethod
    def of(cls, judgement: Judgement) -> Self:
        """The answer was no stream: a result counts as its only event (B107)."""
        stream = cls()
        if isinstance(judgement, Accepted):
            stream._add(StreamEvent(result=judgement.result))
            stream._ended = Ending.CLOSED
        else:
            stream._ended = judgement
        return stream

    @property
    def ended(self) -> Ended | None:
        """None while there may be more; a judgement where there was no event."""
        return None if self._events else self._ended

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> StreamEvent:
        while not self._events and self._ended is None:
            await self._read_on()
        if not self._events:
            raise StopAsyncIteration
        return self._events.popleft()

    async def _read_on(self) -> None:
        """Add an event, or end, or neither."""
        raise NotImplementedError

    def _add(self, event: StreamEvent) -> None:
        self._has_begun = True
        self._events.append(event)


class EventStream(Stream):
    """The answer is an event stream of which the head was read."""

    def __init__(self, outgoing: Outgoing, chunks: AsyncIterator[bytes]) -> None:
        super().__init__()
        self._outgoing = outgoing
        self._chunks = chunks
        self._parser = EventParser()

    async def _read_on(self) -> None:
        try:
            events = self._parser.feed(await anext(self._chunks))
        except StopAsyncIteration:
            self._end(Ending.CLOSED, _NO_EVENT)
        except EgressError as error:
            self._end(Ending.CUT, replies.of_egress_error(error))
        except RemoteError:
            self._end(Ending.CUT, _TOO_LARGE)
        else:
            self._take(events)

    def _take(self, events: list[Event]) -> None:
        for event in events:
            judgement = self._outgoing.judge_event(event.data)
            if isinstance(judgement, Accepted):
                self._add(StreamEvent(id=event.own_id, result=judgement.result))
            elif event.event == _UNNAMED:
                self._end(Ending.CUT, judgement)
                return
            else:
                # Of some agent's own making, such as a ping with a time in it.
                self._note("remote event skipped", judgement)

    def _end(self, ending: Ending, judgement: NotAccepted | Unknown) -> None:
        if not self._has_begun:
            self._ended = judgement
            self._outgoing.wanted.logged(judgement)
            return
        self._ended = ending
        if ending is Ending.CUT:
            self._note("remote stream cut", judgement)

    def _note(self, what: str, judgement: NotAccepted | Unknown) -> None:
        wanted = self._outgoing.wanted
        facts = wanted.audit.facts(wanted.agent) | {"code": judgement.code}
        logger.info(what, extra=facts)
