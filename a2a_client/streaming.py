"""Delivery by stream: a task's events are read while they come (C6, B106, B114).

A stream that is cut is no end: once the task has a name it is polled from there on, and
the row has said so since the first event that named it. What is not known to have become
a task has an unknown outcome.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from asgiref.sync import sync_to_async

from a2a_client import ledger, polling, recording, transport
from a2a_client.accumulating import TaskSoFar
from a2a_client.streams import Ending

if TYPE_CHECKING:
    from a2a_client.audit import Audit
    from a2a_client.models import RemoteCall
    from a2a_client.streams import Stream
    from a2a_protocol.types import SendMessageRequest


async def follow(
    call: RemoteCall, request: SendMessageRequest, *, audit: Audit
) -> None:
    """Send what was committed as `sending`, once, and record what the stream came to."""
    so_far = TaskSoFar(answered=ledger.answered_mark(call))
    seconds = await sync_to_async(ledger.seconds_left)(call)
    async with transport.stream(
        call.agent, "SendStreamingMessage", request, audit=audit, seconds=seconds
    ) as stream:
        await _read(call, stream, so_far)
        ended = stream.ended
    if isinstance(ended, Ending | None):
        await sync_to_async(recording.stream_ended)(call, so_far.settled())
    else:
        await sync_to_async(recording.reply_to_message)(call, ended)


async def _read(call: RemoteCall, stream: Stream, so_far: TaskSoFar) -> None:
    is_named = False
    async for event in stream:
        recording.note(call, so_far.take(event.result, event_id=event.id))
        if so_far.is_over:
            # Whether the agent closes the stream does not matter (B106).
            return
        if so_far.task_id and not is_named:
            is_named = await _name(call, so_far)


async def _name(call: RemoteCall, so_far: TaskSoFar) -> bool:
    """Whoever finds the row after a crash goes on by polling."""
    # A run that does not wait is not polled for; a call without one would be.
    due_in = recording.poll_delay(0) if call.run_id else polling.LEFT_ALONE
    if recording.take_names(call, so_far.settled()):
        await sync_to_async(ledger.working)(call, due_in=due_in)
    return True
