"""One request to a remote agent (C3, C4, C7): it leaves once, and its answer is judged.

Nothing that an agent or the network does is raised from here; it comes back as one of the
judgements of `replies`. Whoever sends a message commits that before, and records the
judgement after. Every request has a connection, a credential and an id of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from a2a_client import guard, outgoing, replies
from a2a_client.outgoing import Wanted
from a2a_client.replies import HttpAnswer, NotAccepted
from a2a_client.streams import EventStream, Stream
from a2a_client.tokens import TokenNotGiven
from agent_runs import outbound
from egress.client import Limits
from egress.errors import BadAnswer, EgressError, Reason, TimedOut

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from a2a_client.audit import Audit
    from a2a_client.models import RemoteAgent
    from a2a_client.outgoing import Outgoing
    from a2a_client.replies import Judgement
    from a2a_protocol.types import WireModel
    from egress.client import StreamedAnswer

# Events are read one by one and not kept here; this only ends what has no end.
MOST_STREAMED_BYTES: Final = 64 * 1024 * 1024


async def send(
    agent: RemoteAgent,
    method: str,
    params: WireModel,
    *,
    audit: Audit,
    seconds: float | None = None,
) -> Judgement:
    """Send once and judge the answer; `seconds` bound everything from DNS to its end.

    Without them the agent's own time-out counts. A token that has to be asked for before
    has as much time for itself. `params` need name no tenant.
    """
    wanted = Wanted(agent=agent, method=method, params=params, audit=audit)
    prepared = await _prepared_within(seconds, wanted)
    if isinstance(prepared, NotAccepted):
        return wanted.logged(prepared)
    limits = _whole_request(agent.timeout_seconds if seconds is None else seconds)
    return wanted.logged(await _exchange(prepared, limits))


@contextlib.asynccontextmanager
async def stream(
    agent: RemoteAgent,
    method: str,
    params: WireModel,
    *,
    audit: Audit,
    seconds: float | None = None,
) -> AsyncIterator[Stream]:
    """Send once and read events as they come; `seconds` bound the whole stream.

    Without them it may last as long as the agent's tasks may. Until it has begun the
    agent's time-out counts. Leaving the context closes the connection, and the agent
    works on.
    """
    wanted = Wanted(
        agent=agent, method=method, params=params, audit=audit, is_streaming=True
    )
    prepared = await outgoing.prepare(wanted)
    if isinstance(prepared, NotAccepted):
        yield Stream.of(wanted.logged(prepared))
        return
    total = agent.deadline_minutes * 60 if seconds is None else seconds
    limits = Limits(total_seconds=total, body_bytes=MOST_STREAMED_BYTES)
    async with contextlib.AsyncExitStack() as stack:
        yield await _open(stack, prepared, limits)


async def _prepared_within(
    seconds: float | None, wanted: Wanted
) -> Outgoing | NotAccepted:
    """Requests of one agent wait for its token one after the other, and not for ever."""
    try:
        async with asyncio.timeout(seconds):
            return await outgoing.prepare(wanted)
    except TimeoutError:
        return NotAccepted(
            code=TokenNotGiven.code,
            sentence=f"The agent's credential was not ready after {seconds:g} seconds. Try "
            "again later.",
        )


def _whole_request(seconds: float) -> Limits:
    # An agent may work in silence as long as the request may last.
    return Limits(total_seconds=seconds, idle_seconds=seconds)


async def _exchange(prepared: Outgoing, limits: Limits) -> Judgement:
    request = prepared.request
    try:
        async with outbound.open_client(guard.GROUP, limits=limits) as client:
            answer = await client.request(
                request.verb,
                request.url,
                headers=prepared.headers,
                content=request.content,
            )
    except EgressError as error:
        return replies.of_egress_error(error)
    await prepared.heard(answer.status)
    return prepared.judge(answer.status, answer.headers, answer.body)


async def _open(
    stack: contextlib.AsyncExitStack, prepared: Outgoing, limits: Limits
) -> Stream:
    wanted = prepared.wanted
    body: bytes | None = None
    try:
        async with asyncio.timeout(wanted.agent.timeout_seconds):
            answer = await _begin(stack, prepared, limits)
            head = HttpAnswer(status=answer.status, headers=answer.headers, body=b"")
            if not replies.is_event_stream(head):
                body = await _whole(answer, wanted.agent)
    except TimeoutError:
        return Stream.of(wanted.logged(replies.of_egress_error(_late(wanted.agent))))
    except EgressError as error:
        return Stream.of(wanted.logged(replies.of_egress_error(error)))
    await prepared.heard(answer.status)
    if body is None:
        return EventStream(prepared, answer.chunks())
    return Stream.of(wanted.logged(prepared.judge(answer.status, answer.headers, body)))


async def _begin(
    stack: contextlib.AsyncExitStack, prepared: Outgoing, limits: Limits
) -> StreamedAnswer:
    request = prepared.request
    client = await stack.enter_async_context(
        outbound.open_client(guard.GROUP, limits=limits)
    )
    return await stack.enter_async_context(
        client.stream(
            request.verb,
            request.url,
            headers=prepared.headers,
            content=request.content,
        )
    )


async def _whole(answer: StreamedAnswer, agent: RemoteAgent) -> bytes:
    """The body of an answer that is no stream, within the bound of such answers."""
    body = bytearray()
    async for piece in answer.chunks():
        body += piece
        if len(body) > Limits().body_bytes:
            raise BadAnswer(
                Reason.BODY_TOO_LARGE,
                f"«{agent.host}» sent an answer that is too large.",
            )
    return bytes(body)


def _late(agent: RemoteAgent) -> TimedOut:
    # Whether anything had left by then is not known; so it counts as having.
    return TimedOut(
        Reason.DEADLINE,
        f"«{agent.host}» had not begun to answer after {agent.timeout_seconds} seconds. "
        "Try again later.",
        has_left=True,
    )
