"""A step of a run, handed to a remote agent and followed until it ended (C5–C8, R12).

`delegate` is called again for the same call after every wait, answer and crash; the row
says where it stands. What may have left this host is never sent again: a row that is
still `sending` when it is found was left so by a process that ended, and nobody knows
whether its message arrived.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async

from a2a_client import ledger, messages, outcomes, recording, stored, transport
from a2a_client.audit import Audit
from a2a_client.models import CallState, Delivery, RemoteAgent
from a2a_client.streaming import follow
from agent_runs.tools.contract import ToolError
from agent_runs.tools.progress import Asking, Done, StillRunning

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_client.models import RemoteCall
    from a2a_protocol.types import SendMessageRequest
    from agent_runs.contents import JSONValue
    from agent_runs.questions import Answer
    from agent_runs.tools.contract import ToolCall
    from agent_runs.tools.progress import Progress

BUSY = "The agent has as many tasks as it may have at once. Try again later."


async def delegate(agent: RemoteAgent, request: ToolCall) -> Progress:
    """Begin the call, or go on with it. Raises `ToolError` when nothing was sent."""
    call = await sync_to_async(ledger.find)(request.run.pk, request.call_id)
    if call is None:
        try:
            call = await sync_to_async(_begin)(agent, request)
        except ledger.AlreadyBegun:
            # A segment that has lost its lease was faster; what it left counts.
            return await delegate(agent, request)
        await send(call, messages.new_task(call, call.request))
    elif call.state == CallState.SENDING:
        if not await sync_to_async(ledger.lost)(call):
            # Whoever had begun it was only slow.
            return await delegate(agent, request)
    elif call.state == CallState.ASKING:
        await _answer(call, request.answers)
    return progress(call)


def _begin(agent: RemoteAgent, request: ToolCall) -> RemoteCall:
    arguments: Any = request.arguments
    try:
        return ledger.begin(
            agent,
            text=arguments.task,
            skill=arguments.skill or "",
            run=request.run,
            call_id=request.call_id,
        )
    except ledger.Busy:
        raise ToolError(BUSY) from None
    except ledger.NotCallable:
        raise ToolError("The agent cannot be called at present.") from None


async def _answer(call: RemoteCall, answers: Mapping[str, Answer]) -> None:
    given = answers.get(call.question_key)
    if given is not None and await sync_to_async(ledger.begin_answer)(call):
        await send(call, messages.answer(call, given))


async def send(
    call: RemoteCall, request: SendMessageRequest, *, may_follow: bool = True
) -> None:
    """Send what was committed as `sending`, once, and record what came of it.

    With `may_follow` a stream is read to its end where the agent is to be followed so.
    """
    audit = Audit.of(call, "SendMessage")
    agent = call.agent
    is_streamed = agent.delivery == Delivery.STREAM and agent.offers_streaming
    if may_follow and is_streamed:
        await follow(call, request, audit=audit)
        return
    reply = await transport.send(agent, "SendMessage", request, audit=audit)
    await sync_to_async(recording.reply_to_message)(call, reply)


# --- How far it is --------------------------------------------------------------------


def progress(call: RemoteCall) -> Progress:
    """For the run, from the row alone."""
    facts = facts_of(call)
    if call.state == CallState.WORKING:
        return StillRunning(waiting_id=str(call.pk), facts=facts)
    if call.state == CallState.ASKING:
        question = stored.load_question(call.question or "")
        return Asking(question=question, key=call.question_key, facts=facts)
    if call.state == CallState.COMPLETED:
        return Done(content=call.result or outcomes.NOTHING_TOLD, facts=facts)
    return Done(content=sentence(call), is_error=True, facts=facts)


def sentence(call: RemoteCall) -> str:
    """Why it did not end well, with the agent's own words where there are any."""
    said = f"\nThe agent said: {call.result}" if call.result else ""
    return f"{call.sentence or call.get_state_display()}{said}"


def facts_of(call: RemoteCall) -> dict[str, JSONValue]:
    return {
        "agent": call.agent.identifier,
        "host": call.host,
        "call": str(call.pk),
        "state": call.state,
        "remote_task": call.remote_task_id,
        "code": call.code,
    }
