"""Executes one segment of a run: claim, check, work, one move (R8–R11, R14, S73).

Both Celery and the sweep call `execute`. The work is done by `agent_loop.py` or
`plain.py` and ends in an `Outcome`; every way out, exceptions included, becomes exactly
one move of `lifecycle.py`, or none where the row is no longer ours.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from asgiref.sync import async_to_sync

from agent_runs import (
    availability,
    clock,
    handlers,
    lifecycle,
    llm,
    plain,
    queue,
    redaction,
    registries,
    stopping,
    store,
    suspending,
    workers,
)
from agent_runs.agent_loop import AgentLoop
from agent_runs.cleaning import clean_result, clean_text
from agent_runs.contents import (
    ContentsError,
    Result,
    RunInput,
    dump_result,
    load_input,
)
from agent_runs.events import NewEvent
from agent_runs.handlers import (
    InputRejected,
    ModelAnswer,
    ModelHandler,
    PlainHandler,
)
from agent_runs.models import AgentRun, AnswerLevel, EndReason, LLMConfiguration
from agent_runs.models.llm import stricter
from agent_runs.models.run import EventKind
from agent_runs.outcomes import (
    Completed,
    Failed,
    Outcome,
    Rejected,
    Released,
    Suspended,
)
from agent_runs.segment import Ending, Segment, SegmentEnded
from agent_runs.statements import Select, value
from agent_runs.store import STORE_AWAY
from agent_runs.supervisor import supervisor
from agent_runs.tools import grants
from agent_runs.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from uuid import UUID

    from agent_runs.tools.contract import Tool

logger = logging.getLogger(__name__)

# What Python raises to end tasks, generators and processes; a handler may raise it too.
_WAYS_TO_END = (
    asyncio.CancelledError,
    GeneratorExit,
    KeyboardInterrupt,
    SystemExit,
)

_WITH_WHAT_IT_USES: Final = Select(
    lambda: AgentRun.objects.select_related(
        "owner", "configuration__provider", "workspace"
    ).filter(id=value(AgentRun, "id"))
)
_LEVEL_NOW: Final = Select(
    lambda: LLMConfiguration.objects.filter(
        id=value(LLMConfiguration, "id")
    ).values_list("provider__answer_level", flat=True)
)


def execute(run_id: UUID) -> bool:
    """Run one segment if the run can be claimed; True when it was this process's."""
    if stopping.is_stopping():
        return False
    owner = f"{workers.WORKER_ID}-{secrets.token_hex(16)}"
    lease = lifecycle.claim(run_id, owner=owner, now=clock.database_now())
    if lease is None:
        return False
    segment = Segment(_load(run_id), lease)
    with supervisor.watching(segment):
        _apply(segment, _outcome_of(segment))
    return True


def _load(run_id: UUID) -> AgentRun:
    (run,) = _WITH_WHAT_IT_USES.all(id=run_id)
    return run


# --- Working --------------------------------------------------------------------------


def _outcome_of(segment: Segment) -> Outcome | None:
    """Work; None when the row belongs to somebody else by now."""
    try:
        return _work(segment)
    except SegmentEnded as ended:
        return _ended(ended.ending)
    except InputRejected as verdict:
        return Rejected(detail=clean_text(str(verdict)))
    except plain.Asked as asked:
        return suspending.for_answer(segment, asked.question)
    except ContentsError as error:
        # A newer release wrote it. Its workers may take it on one of the next tries.
        summary = f"unreadable: {error}"
        return Failed(
            reason=EndReason.NOT_RETRYABLE, summary=summary, is_retryable=True
        )
    except STORE_AWAY:
        # No move can be made. The lease runs out, and the reaper decides.
        logger.exception("store failed during a segment", extra=_facts(segment))
        return None
    except Exception as error:  # noqa: BLE001 -- a handler may raise anything
        return _failure_of(segment, error)
    except _WAYS_TO_END as error:
        return _ended_by_force(segment, error)


def _ended(ending: Ending) -> Outcome | None:
    return Released() if ending is Ending.STOPPING else None


def _ended_by_force(segment: Segment, error: BaseException) -> Outcome | None:
    """By the supervisor, by Celery, from a terminal, or by a handler's own doing."""
    if isinstance(error, asyncio.CancelledError) and segment.ending:
        return _ended(segment.ending)
    if isinstance(error, SystemExit) and type(error) is not SystemExit:
        # Celery's own ways to end a worker.
        raise error
    if isinstance(error, KeyboardInterrupt):
        # From a terminal, unless a handler raised it: the work is not done either way.
        stopping.request_stop()
        return Failed(
            reason=EndReason.NOT_RETRYABLE, summary="interrupted", is_retryable=True
        )
    name = type(error).__name__
    return _failure_of(segment, RuntimeError(f"the handler raised {name}"))


def _failure_of(segment: Segment, error: Exception) -> Failed:
    failure = llm.classify(error)
    if failure.reason is EndReason.NOT_RETRYABLE:
        logger.error("segment failed", exc_info=error, extra=_facts(segment))
    return Failed(
        reason=failure.reason,
        summary=failure.summary,
        is_retryable=failure.is_retryable,
        retry_after=failure.retry_after or timedelta(),
    )


def _work(segment: Segment) -> Outcome:
    tools = grants.offered(segment.run.tools, segment.run.owner)
    problem = _precondition_problem(segment.run, tools)
    if problem:
        return Failed(reason=EndReason.PRECONDITION_FAILED, summary=problem)
    handler = handlers.find(segment.run.handler)
    if handler is None:
        summary = "the domain handler is not installed"
        return Failed(reason=EndReason.PRECONDITION_FAILED, summary=summary)
    run_input = load_input(segment.run.request)
    if segment.run.checkpoint is None and not segment.run.has_effects:
        handler.check(run_input)
    if isinstance(handler, PlainHandler):
        return _completed(_run_plain(handler, segment, run_input))
    if isinstance(handler, ModelHandler):
        return _work_with_model(segment, handler, run_input, tools)
    raise TypeError("a handler is a ModelHandler or a PlainHandler")


def _precondition_problem(run: AgentRun, tools: Mapping[str, Tool]) -> str | None:
    """Whatever has to hold at the start of every segment, the first included (S73)."""
    problem = availability.owner_problem(run.owner)
    if problem is None and run.configuration is not None:
        problem = availability.configuration_problem(run.configuration)
        if problem is None and not availability.user_may_use(
            run.configuration, run.owner
        ):
            problem = "the owner is in none of the configuration's groups"
    problem = problem or grants.withdrawn(run.tools, tools)
    return problem or registries.segment_problem(run)


def _run_plain(handler: PlainHandler, segment: Segment, run_input: RunInput) -> object:
    try:
        return plain.run(handler, segment, run_input)
    finally:
        store.leave_no_transaction()


def _work_with_model(
    segment: Segment,
    handler: ModelHandler,
    run_input: RunInput,
    tools: Mapping[str, Tool],
) -> Outcome:
    configuration = segment.run.configuration
    if configuration is None:
        summary = "the run has no configuration"
        return Failed(reason=EndReason.PRECONDITION_FAILED, summary=summary)
    stored = segment.run.checkpoint
    transcript = (
        Transcript.load(stored)
        if stored
        else Transcript.begin(handler.prompt(run_input), run_input.earlier)
    )
    ended = async_to_sync(_run_loop)(segment, configuration, transcript, tools)
    if isinstance(ended, ModelAnswer):
        result = handler.result(ended, run_input)
        return _completed(result, truncated=ended.is_truncated)
    return ended


def _completed(result: object, *, truncated: bool = False) -> Completed:
    """Raise whatever a malformed result raises, while that still counts as a failure."""
    if not isinstance(result, Result):
        raise TypeError("a handler gives a Result")
    cleaned = clean_result(result)
    dump_result(cleaned)
    return Completed(result=cleaned, truncated=truncated)


async def _run_loop(
    segment: Segment,
    configuration: LLMConfiguration,
    transcript: Transcript,
    tools: Mapping[str, Tool],
) -> ModelAnswer | Suspended | Failed:
    async with llm.open_client(configuration.provider) as http_client:
        loop = AgentLoop(
            segment,
            configuration,
            model=llm.build_model(configuration, http_client),
            settings=llm.model_settings(configuration),
            transcript=transcript,
            tools=tools,
        )
        return await loop.run()


# --- Ending ---------------------------------------------------------------------------


def _apply(segment: Segment, outcome: Outcome | None) -> None:
    """Turn the outcome into its move; a lost one is logged there and changes nothing."""
    try:
        won = outcome is not None and segment.persist(partial(_move, segment, outcome))
    except STORE_AWAY:
        logger.exception("outcome not stored", extra=_facts(segment))
        return
    except Exception:
        # A receiver of the move refused it. The run must not be left open for that.
        logger.exception("outcome refused", extra=_facts(segment))
        outcome = Failed(reason=EndReason.NOT_RETRYABLE, summary="outcome refused")
        won = _fail(segment, outcome, now=clock.database_now())
    logger.info("segment ended", extra=_facts(segment) | _told(outcome, won))


def _move(segment: Segment, outcome: Outcome) -> bool:
    lease, now = segment.lease, clock.database_now()
    if isinstance(outcome, Completed):
        return _complete(segment, outcome, now=now)
    if isinstance(outcome, Rejected):
        return lifecycle.reject(lease, detail=outcome.detail, now=now)
    if isinstance(outcome, Suspended):
        return _suspend(segment, outcome, now=now)
    if isinstance(outcome, Released):
        return _release(segment, outcome, now=now)
    return _fail(segment, outcome, now=now)


def _complete(segment: Segment, outcome: Completed, *, now: datetime) -> bool:
    kept = redaction.kept_result(_current_level(segment), outcome.result)
    if kept is None:
        return lifecycle.fail(
            segment.run.id, EndReason.POLICY_DENIED, now=now, lease=segment.lease
        )
    return lifecycle.complete(
        segment.lease, result=kept, truncated=outcome.truncated, now=now
    )


def _current_level(segment: Segment) -> AnswerLevel:
    """What the provider says now may be stricter than when the run was queued (R16)."""
    configuration = segment.run.configuration
    if configuration is None:
        return AnswerLevel(segment.run.answer_level)
    current = _LEVEL_NOW.first(id=configuration.pk)
    # A configuration that is gone keeps nothing; a run's own cannot be deleted.
    return stricter(segment.run.answer_level, current or AnswerLevel.NONE)


def _suspend(segment: Segment, outcome: Suspended, *, now: datetime) -> bool:
    if stricter(_current_level(segment), segment.level) != segment.level:
        # It became stricter meanwhile: what may be shown is made anew (R16).
        return _release(segment, Released(), now=now)
    return lifecycle.suspend(
        segment.lease,
        outcome.target,
        waiting=outcome.waiting,
        now=now,
        event=outcome.event,
    )


def _release(segment: Segment, outcome: Released, *, now: datetime) -> bool:
    run = segment.run
    if run.has_effects and run.checkpoint is None:
        # Nobody may begin this again; a release would do just that.
        reason = EndReason.LEASE_LOST_AFTER_WRITE
        return lifecycle.fail(run.id, reason, now=now, lease=segment.lease)
    return lifecycle.release(segment.lease, delay=outcome.delay, now=now)


def _fail(segment: Segment, outcome: Failed, *, now: datetime) -> bool:
    run = segment.run
    if not outcome.is_retryable:
        return lifecycle.fail(run.id, outcome.reason, now=now, lease=segment.lease)
    if run.has_effects and run.checkpoint is None:
        reason = EndReason.LEASE_LOST_AFTER_WRITE
        return lifecycle.fail(run.id, reason, now=now, lease=segment.lease)
    limit = run.configuration.provider.max_retries if run.configuration else 3
    delay = queue.retry_delay(run.requeues, limit=limit, at_least=outcome.retry_after)
    if delay is None:
        reason = EndReason.RETRIES_EXHAUSTED
        return lifecycle.fail(run.id, reason, now=now, lease=segment.lease)
    facts = {"cause": outcome.summary, "delay_seconds": delay.total_seconds()}
    event = NewEvent(kind=EventKind.RETRY, round=run.rounds, facts=facts)
    return lifecycle.requeue(segment.lease, delay=delay, now=now, event=event)


def _facts(segment: Segment) -> dict[str, str | bool]:
    return {"run": str(segment.run.id), "handler": segment.run.handler}


def _told(outcome: Outcome | None, won: bool) -> dict[str, str | bool]:
    name = "gone" if outcome is None else type(outcome).__name__.lower()
    told: dict[str, str | bool] = {"outcome": name, "stored": won}
    if isinstance(outcome, Failed):
        told |= {"reason": outcome.reason.value, "summary": outcome.summary}
    return told
