"""Calls a remote agent for people and for their own code, without a run (C10).

A call is a row like every other: it is committed before anything leaves, its message is
sent once, and it counts against the agent's limit. While somebody waits here the sweep
leaves it alone; when they stop waiting, or their process ends, the sweep goes on with it.

Whoever calls may do so: there is no approval, and no group is asked for.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from asgiref.sync import async_to_sync, sync_to_async

from a2a_client import (
    agents,
    conf,
    delegation,
    importing,
    ledger,
    messages,
    polling,
    recording,
    stored,
)
from a2a_client.models import CallState, RemoteCall
from agent_runs import questions
from agent_runs.cleaning import clean_text
from agent_runs.questions import Answer
from agent_runs.registries import NothingNamed
from agent_runs.saving import listed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from uuid import UUID

    from a2a_client.models import RemoteAgent
    from a2a_protocol.types import SendMessageRequest
    from agent_runs.questions import Question

    # Told in a sentence what happens.
    OnProgress = Callable[[str], object]
    # Given the agent's question; None leaves it open.
    Answering = Callable[[Question], str | None]

LONGEST_TEXT: Final = 50_000


class CallRefused(Exception):  # noqa: N818 -- an answer, not a failure
    """Nothing was sent; the sentence says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """How far the call is.

    `state` is `completed` with the agent's answer as `text`; `asking` with a `question`;
    `working` where nobody waits any more; else an end whose reason is `sentence`, with
    what the agent said, if anything, as `text`.
    """

    call_id: UUID
    state: CallState
    text: str
    sentence: str
    task_id: str
    context_id: str
    question: Question | None = None


def call(
    identifier: str,
    text: str,
    *,
    skill: str = "",
    context_id: str = "",
    on_progress: OnProgress | None = None,
    answer: Answering | None = None,
    timeout: float | None = None,
) -> CallResult:
    """Send a task to an agent and wait, at most `timeout` seconds, for what becomes of it.

    0 waits for the agent's first reply only; None until the agent's deadline. `answer` is
    asked whatever the agent asks; without it the call ends as `asking`, to be gone on
    with by `go_on`. Both functions may block and use the ORM.

    Raises `CallRefused`, and `questions.BadAnswer` for what is no answer; the question
    stays open then. What an agent or the network does is in the result.
    """
    return _blocking(
        acall,
        identifier,
        text,
        skill=skill,
        context_id=context_id,
        on_progress=on_progress,
        answer=answer,
        timeout=timeout,
    )


async def acall(
    identifier: str,
    text: str,
    *,
    skill: str = "",
    context_id: str = "",
    on_progress: OnProgress | None = None,
    answer: Answering | None = None,
    timeout: float | None = None,
) -> CallResult:
    """As `call`, for code that runs on an event loop."""
    begun = await sync_to_async(_begin)(identifier, text, skill, context_id)
    waiting = _Waiting(begun, on_progress, answer, timeout)
    await waiting.tell(f"Sending to {begun.host}.")
    await waiting.send(messages.new_task(begun, text))
    return await waiting.settle()


def go_on(
    identifier: str,
    task_id: str,
    text: str = "",
    *,
    on_progress: OnProgress | None = None,
    answer: Answering | None = None,
    timeout: float | None = None,
) -> CallResult:
    """Go on with an earlier call by the agent's id of its task; `text` answers a question.

    Raises as `call` does.
    """
    return _blocking(
        ago_on,
        identifier,
        task_id,
        text,
        on_progress=on_progress,
        answer=answer,
        timeout=timeout,
    )


async def ago_on(
    identifier: str,
    task_id: str,
    text: str = "",
    *,
    on_progress: OnProgress | None = None,
    answer: Answering | None = None,
    timeout: float | None = None,
) -> CallResult:
    """As `go_on`, for code that runs on an event loop."""
    found = await sync_to_async(_find)(identifier, task_id)
    waiting = _Waiting(found, on_progress, answer, timeout)
    if text:
        await waiting.give(text)
    return await waiting.settle()


def _blocking(
    wait: Callable[..., Awaitable[CallResult]], *args: Any, **options: Any
) -> CallResult:
    tasks: list[asyncio.Task[Any] | None] = []

    async def waiting() -> CallResult:
        tasks.append(asyncio.current_task())
        return await wait(*args, **options)

    try:
        return async_to_sync(waiting)()
    except KeyboardInterrupt:
        # The loop's thread would wait for this one to use the ORM, and this one, when the
        # process ends, for the loop's.
        for task in filter(None, tasks):
            task.get_loop().call_soon_threadsafe(task.cancel)
        raise


# --- Beginning ------------------------------------------------------------------------


def _begin(identifier: str, text: str, skill: str, context_id: str) -> RemoteCall:
    agent = _agent(identifier)
    problem = _text_problem(text) or _context_problem(context_id)
    if problem := problem or _skill_problem(agent, skill):
        raise CallRefused(problem)
    try:
        return ledger.begin(agent, text=text, skill=skill, context_id=context_id)
    except ledger.NotCallable as refusal:
        raise CallRefused(str(refusal)) from refusal
    except ledger.Busy:
        raise CallRefused(
            f"«{agent}» has as many tasks as it may have at once "
            f"({agent.max_active_calls}). Wait for one to end, or give one up: manage.py "
            "a2a_agent_calls lists them and takes --cancel."
        ) from None


def _agent(identifier: str) -> RemoteAgent:
    if not conf.is_enabled():
        raise CallRefused(conf.ROLE_IS_OFF)
    try:
        return agents.named(identifier)
    except NothingNamed as error:
        raise CallRefused(str(error)) from error


def _text_problem(text: str) -> str | None:
    if not text.strip():
        return "There is no text to send."
    if len(text) > LONGEST_TEXT:
        return f"The text is longer than {LONGEST_TEXT} characters."
    if clean_text(text) != text:
        return "The text holds U+0000 or half a surrogate pair. Leave it out."
    return None


def _context_problem(context_id: str) -> str | None:
    if len(context_id) > recording.LONGEST_ID:
        return "The context's id is longer than any that an agent gave."
    if clean_text(context_id) != context_id:
        return "The context's id holds what no agent's has: U+0000 or half a pair."
    return None


def _skill_problem(agent: RemoteAgent, skill: str) -> str | None:
    allowed = agent.allowed_skills
    if skill and allowed and skill not in allowed:
        return f"«{agent}» may be asked for {listed(allowed)} only."
    card = importing.stored_card(agent)
    offered = {one.id for one in card.skills} if card else set()
    if skill and skill not in offered:
        has = listed(sorted(offered)) if offered else "none"
        return f"The card of «{agent}» has no skill «{skill}». It has {has}."
    if not skill and allowed:
        return f"Name a skill: «{agent}» may be asked for {listed(allowed)} only."
    return None


def _find(identifier: str, task_id: str) -> RemoteCall:
    calls = RemoteCall.objects.filter(
        # As it was stored, whatever the agent called it.
        agent=_agent(identifier),
        run=None,
        remote_task_id=clean_text(task_id),
    )
    found = calls.select_related("agent").order_by("-created_at").first()
    if found is None or not task_id:
        raise CallRefused(
            f"«{identifier}» was given no task «{task_id}» from here. "
            "manage.py a2a_agent_calls lists those it was given."
        )
    return found


# --- Waiting --------------------------------------------------------------------------


class _Waiting:
    """Somebody waits for a call, and may be asked."""

    def __init__(
        self,
        call: RemoteCall,
        on_progress: OnProgress | None,
        answer: Answering | None,
        seconds: float | None,
    ) -> None:
        self._call = call
        self._on_progress = on_progress
        self._answer = answer
        self._until = None if seconds is None else time.monotonic() + seconds
        self._told = ""

    async def settle(self) -> CallResult:
        """Until it ended, a question stays open, or the time is over."""
        while True:
            if self._call.state == CallState.ASKING:
                if not await self._ask():
                    break
            elif self._call.state != CallState.WORKING or not await self._wait():
                break
        # Whoever stops waiting leaves the task to the sweep.
        await sync_to_async(ledger.hold)(self._call, timedelta())
        return await sync_to_async(_result)(self._call)

    async def give(self, text: str) -> None:
        """Answer the open question. Raises `BadAnswer`, and `CallRefused` without one."""
        question = await sync_to_async(_question)(self._call)
        if question is None:
            state = CallState(self._call.state).label
            raise CallRefused(f"The task waits for no answer: «{state}».")
        given = Answer(value=questions.parse(question, text))
        if not await sync_to_async(ledger.begin_answer)(self._call):
            raise CallRefused("Somebody else has answered meanwhile.")
        await self.tell("Sending the answer.")
        await self.send(messages.answer(self._call, given))

    async def send(self, request: SendMessageRequest) -> None:
        # A stream ends when the agent wants; whoever is in a hurry has it polled.
        may_follow = self._until is None
        await delegation.send(self._call, request, may_follow=may_follow)

    async def tell(self, sentence: str) -> None:
        if self._on_progress and sentence != self._told:
            self._told = sentence
            await sync_to_async(self._on_progress)(sentence)

    async def _ask(self) -> bool:
        question = await sync_to_async(_question)(self._call)
        if question is None or self._answer is None:
            return False
        text = await sync_to_async(self._answer)(question)
        if text is None:
            return False
        await self.give(text)
        return True

    async def _wait(self) -> bool:
        """Look at the task after a pause; False when the time is over."""
        await self.tell(f"The agent works on task {self._call.remote_task_id}.")
        pause = recording.poll_delay(self._call.polls).total_seconds()
        left = pause if self._until is None else self._until - time.monotonic()
        if left <= 0:
            return False
        await sync_to_async(ledger.hold)(self._call, polling.LEFT_ALONE)
        await asyncio.sleep(min(pause, left))
        self._call = await sync_to_async(_fresh)(self._call)
        if self._call.state == CallState.WORKING:
            await self._look()
        return True

    async def _look(self) -> None:
        judgement = await polling.ask(self._call)
        await sync_to_async(polling.record_poll)(self._call, judgement)
        self._call = await sync_to_async(_fresh)(self._call)


def _fresh(call: RemoteCall) -> RemoteCall:
    return RemoteCall.objects.select_related("agent").get(pk=call.pk)


def _question(call: RemoteCall) -> Question | None:
    if call.state != CallState.ASKING or not call.question:
        return None
    return stored.load_question(call.question)


def _result(call: RemoteCall) -> CallResult:
    call = _fresh(call)
    return CallResult(
        call_id=call.pk,
        state=CallState(call.state),
        text=call.result or "",
        sentence=call.sentence,
        task_id=call.remote_task_id,
        context_id=call.context_id,
        question=_question(call),
    )
