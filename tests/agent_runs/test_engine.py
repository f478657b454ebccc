"""Whole segments: claim to move, with real handlers and the offline provider."""

from __future__ import annotations

import asyncio
import logging
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from django.db import OperationalError, connection, transaction

from agent_runs import (
    clock,
    engine,
    handlers,
    lifecycle,
    queue,
    registries,
    stopping,
    supervisor,
    waiting,
)
from agent_runs.contents import (
    DataPart,
    Output,
    Result,
    RunInput,
    dump_document,
    load_result,
    text_output,
)
from agent_runs.effects import Effect
from agent_runs.handlers import (
    InputRejected,
    ModelAnswer,
    ModelHandler,
    PlainHandler,
    RunContext,
)
from agent_runs.models import AgentRun, EndReason, Provider, RunState
from agent_runs.questions import Question
from agent_runs.signals import RunChange, run_changed
from tests import factories

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _supervisor_rests() -> Iterator[None]:
    """Its connection would keep the test database from being dropped."""
    yield
    assert supervisor.supervisor.idle.wait(5)


class Plain(PlainHandler):
    name = "test.plain"
    effect = Effect.READ_ONLY
    work: ClassVar[Callable[[RunContext], Result]]

    def run(self, context: RunContext) -> Result:
        return type(self).work(context)


def _plain(
    work: Callable[[RunContext], Result], effect: Effect = Effect.READ_ONLY
) -> str:
    handler = type(
        "Working", (Plain,), {"work": staticmethod(work), "effect": effect}
    )()
    handlers.register(handler)
    return handler.name


def _says(text: str) -> Callable[[RunContext], Result]:
    return lambda _: Result(outputs=(text_output(text),))


def _queued(handler: str = "test.plain", **values: Any) -> AgentRun:
    return factories.make_run(handler=handler, **values)


def _executed(run: AgentRun) -> AgentRun:
    assert engine.execute(run.id)
    run.refresh_from_db()
    return run


def _lose_lease(run: AgentRun) -> None:
    past = clock.database_now() - timedelta(seconds=1)
    AgentRun.objects.filter(id=run.id).update(lease_expires_at=past)


@pytest.fixture
def _stopping() -> Any:
    yield
    stopping.reset()


def test_a_plain_handler_completes_the_run() -> None:
    _plain(lambda context: Result(outputs=(text_output(context.input.text.upper()),)))

    run = _executed(_queued(text="hello"))

    assert (run.state, run.end_reason) == (RunState.COMPLETED, EndReason.COMPLETED)
    assert load_result(run.result).outputs == (text_output("HELLO"),)
    assert run.lease_owner == ""


def test_a_model_handler_completes_the_run_through_the_provider() -> None:
    run = _executed(
        _queued("llm.text", configuration=factories.make_configuration(), text="hello")
    )

    assert run.state == RunState.COMPLETED
    assert "hello" in run.result
    assert (run.rounds, run.checkpoint) == (1, None)
    kinds = list(run.events.order_by("sequence").values_list("kind", flat=True))
    assert kinds == ["model", "settled"]


def test_a_run_somebody_else_has_is_not_touched() -> None:
    run = factories.make_run(RunState.RUNNING)

    assert not engine.execute(run.id)


def test_a_message_for_a_run_that_is_gone_does_no_harm() -> None:
    """W5: lost, duplicate and late messages do no harm."""
    run = _queued()
    run.delete()

    assert not engine.execute(run.id)


def test_a_refused_input_rejects_the_run_with_the_handlers_sentence() -> None:
    class Picky(Plain):
        name = "test.picky"
        work = staticmethod(_says("never"))

        def check(self, run_input: RunInput) -> None:
            raise InputRejected("Only in French, please.\x00")

    handlers.register(Picky())
    details: list[str] = []

    def receive(change: Any, **_: object) -> None:
        details.append(change.detail)

    run_changed.connect(receive)
    try:
        run = _executed(_queued("test.picky"))
    finally:
        run_changed.disconnect(receive)

    assert (run.state, run.end_reason) == (RunState.REJECTED, EndReason.INPUT_REJECTED)
    assert details[-1] == "Only in French, please.\ufffd"


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("postgres://u:pw@db/x"),
        SystemExit(3),
        GeneratorExit(),
        asyncio.CancelledError(),
    ],
    ids=repr,
)
def test_an_exception_of_a_handler_fails_the_run(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    """B049: and is not tried again."""

    def work(_: RunContext) -> Result:
        raise error

    _plain(work)

    run = _executed(_queued())

    assert (run.state, run.end_reason) == (RunState.FAILED, EndReason.NOT_RETRYABLE)
    assert "segment failed" in caplog.text


def test_a_query_of_a_handler_that_the_database_refuses_is_a_failure() -> None:
    def work(_: RunContext) -> Result:
        factories.make_user("twice")
        factories.make_user("twice")
        return Result()

    _plain(work)

    run = _executed(_queued())

    assert (run.state, run.end_reason) == (RunState.FAILED, EndReason.NOT_RETRYABLE)


def test_a_store_that_goes_away_leaves_the_run_to_the_reaper(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def work(_: RunContext) -> Result:
        raise OperationalError("server closed the connection")

    _plain(work)

    run = _executed(_queued())

    assert run.state == RunState.RUNNING
    assert "store failed during a segment" in caplog.text


@pytest.mark.parametrize("returned", [None, "text", 5, Result], ids=repr)
def test_a_handler_that_returns_no_result_fails_the_run(returned: Any) -> None:
    """B049: an executor that returns nothing never leaves the run open."""
    _plain(lambda _: returned)

    run = _executed(_queued())

    assert (run.state, run.end_reason) == (RunState.FAILED, EndReason.NOT_RETRYABLE)


def test_unstorable_text_of_a_handler_is_replaced() -> None:
    """S15, B013."""
    _plain(
        lambda _: Result(
            outputs=(Output(parts=(DataPart(data={"a\x00": ["\ud800", 1e400]}),)),)
        )
    )

    run = _executed(_queued())

    [output] = load_result(run.result).outputs
    assert output.parts == (DataPart(data={"a\ufffd": ["\ufffd", None]}),)


def test_a_result_that_cannot_be_projected_fails_the_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B049: whatever goes wrong, the run does not stay open."""
    _plain(_says("unprojectable"))

    def refuse(change: RunChange, **_: object) -> None:
        if change.state is RunState.COMPLETED:
            raise ValueError

    run_changed.connect(refuse)
    try:
        run = _executed(_queued())
    finally:
        run_changed.disconnect(refuse)

    assert (run.state, run.end_reason) == (RunState.FAILED, EndReason.NOT_RETRYABLE)
    assert run.result is None
    assert "outcome refused" in caplog.text


# --- R19, S73: preconditions ----------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [{"is_active": False}, {"is_superuser": True}],
    ids=["inactive", "superuser"],
)
def test_a_changed_owner_fails_the_run_before_anything_happens(
    change: dict[str, bool],
) -> None:
    """R19: re-read at every segment."""
    ran: list[bool] = []
    _plain(lambda _: ran.append(True) or Result())
    run = _queued()
    type(run.owner).objects.filter(pk=run.owner.pk).update(**change)

    _executed(run)

    assert (run.state, run.end_reason) == (
        RunState.FAILED,
        EndReason.PRECONDITION_FAILED,
    )
    assert ran == []


def test_a_deleted_owner_fails_the_run() -> None:
    _plain(_says("never"))
    run = _queued()
    run.owner.delete()

    _executed(AgentRun.objects.get(id=run.id))

    run.refresh_from_db()
    assert run.end_reason == EndReason.PRECONDITION_FAILED


@pytest.mark.parametrize("record", ["configuration", "provider"])
def test_what_was_switched_off_meanwhile_fails_the_run(record: str) -> None:
    configuration = factories.make_configuration()
    run = _queued("llm.text", configuration=configuration)
    changed = configuration if record == "configuration" else configuration.provider
    type(changed)._base_manager.filter(pk=changed.pk).update(is_active=False)

    assert _executed(run).end_reason == EndReason.PRECONDITION_FAILED


def test_an_owner_outside_the_allowed_groups_fails_the_run() -> None:
    configuration = factories.make_configuration()
    configuration.allowed_groups.add(factories.make_group())

    run = _executed(_queued("llm.text", configuration=configuration))

    assert run.end_reason == EndReason.PRECONDITION_FAILED


def test_a_segment_guard_refuses_the_run(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    def guard(run: AgentRun) -> str:
        return "the client is gone"

    _plain(_says("never"))
    registries.register_segment_guard(guard)
    try:
        run = _executed(_queued())
    finally:
        registries.segment_guards.remove(guard)

    assert run.end_reason == EndReason.PRECONDITION_FAILED
    assert "the client is gone" in str(
        [getattr(record, "summary", "") for record in caplog.records]
    )


def test_a_handler_that_is_not_installed_any_more_fails_the_run() -> None:
    assert _executed(_queued("gone.away")).end_reason == EndReason.PRECONDITION_FAILED


# --- R16: the answer level ------------------------------------------------------------


@pytest.mark.parametrize("level", ["none", "metadata"])
def test_a_result_that_may_not_be_kept_any_more_is_not(level: str) -> None:
    """R16: the stricter of the snapshot and the provider's current level."""
    configuration = factories.make_configuration()
    run = _queued("llm.text", configuration=configuration)
    type(configuration.provider)._base_manager.update(answer_level=level)

    _executed(run)

    assert (run.state, run.end_reason) == (RunState.FAILED, EndReason.POLICY_DENIED)
    assert run.result is None


def test_a_redacted_result_is_masked() -> None:
    configuration = factories.make_configuration(
        provider=factories.make_provider(answer_level="redacted")
    )
    run = _executed(
        _queued(
            "llm.text",
            configuration=configuration,
            answer_level="redacted",
            text="write to jane@example.com",
        )
    )

    assert run.state == RunState.COMPLETED
    assert "jane@example.com" not in run.result


# --- R10: trying again ----------------------------------------------------------------


class Failing(ModelHandler):
    name = "test.failing"

    def result(self, answer: ModelAnswer, run_input: RunInput) -> Result:
        from pydantic_ai.exceptions import ModelConnectionError

        raise ModelConnectionError(model_name="m", message="refused")


def _failing(**provider: Any) -> AgentRun:
    handlers.register(Failing())
    configuration = factories.make_configuration(
        provider=factories.make_provider(**provider)
    )
    return _queued("test.failing", configuration=configuration)


def test_a_passing_failure_is_tried_again_later() -> None:
    run = _executed(_failing())

    assert (run.state, run.requeues) == (RunState.QUEUED, 1)
    assert run.due_at > clock.database_now() + timedelta(seconds=25)
    assert "refused" not in str(list(run.events.values_list("facts", flat=True)))


def test_a_provider_without_retries_fails_at_once() -> None:
    run = _executed(_failing(max_retries=0))

    assert run.end_reason == EndReason.RETRIES_EXHAUSTED


def test_a_failed_run_goes_on_from_its_checkpoint() -> None:
    """R8: the model is not asked again for an answer that is stored."""
    run = _executed(_failing())
    AgentRun.objects.filter(id=run.id).update(due_at=clock.database_now())

    _executed(run)

    assert run.rounds == 1


# --- R8, R11: effects of plain handlers -----------------------------------------------


def test_a_plain_write_is_never_started_a_second_time() -> None:
    """R8: lease_lost_after_write."""
    started: list[int] = []

    class Killed(BaseException):
        pass

    def work(_: RunContext) -> Result:
        started.append(1)
        raise Killed

    _plain(work, Effect.NON_IDEMPOTENT_WRITE)
    run = _queued()
    with pytest.raises(Killed):
        engine.execute(run.id)
    _lose_lease(run)

    queue.reap()

    run.refresh_from_db()
    assert run.end_reason == EndReason.LEASE_LOST_AFTER_WRITE
    assert started == [1]


def test_a_checkpoint_lets_a_plain_write_go_on() -> None:
    class Killed(BaseException):
        pass

    done: list[int] = []

    def work(context: RunContext) -> Result:
        state = context.checkpoint_state
        for step in range(state if isinstance(state, int) else 0, 3):
            done.append(step)
            context.checkpoint(step + 1)
            if done == [0, 1]:
                raise Killed
        return Result(outputs=(text_output("all"),))

    _plain(work, Effect.NON_IDEMPOTENT_WRITE)
    run = _queued()
    with pytest.raises(Killed):
        engine.execute(run.id)
    _lose_lease(run)
    queue.reap()

    _executed(run)

    assert run.state == RunState.COMPLETED
    assert done == [0, 1, 2]


def test_a_read_only_handler_starts_over() -> None:
    class Killed(BaseException):
        pass

    tries: list[int] = []

    def work(_: RunContext) -> Result:
        tries.append(1)
        if len(tries) == 1:
            raise Killed
        return Result()

    _plain(work)
    run = _queued()
    with pytest.raises(Killed):
        engine.execute(run.id)
    _lose_lease(run)
    queue.reap()

    assert _executed(run).state == RunState.COMPLETED


# --- R9, R14, W6: ends from outside ---------------------------------------------------


def test_a_canceled_plain_handler_stops_at_its_next_check() -> None:
    """R14: the row is settled at once, and the late end changes nothing."""
    canceled = threading.Event()

    def work(context: RunContext) -> Result:
        lifecycle.cancel(run.id)
        canceled.set()
        while True:
            context.check()

    _plain(work)
    run = _queued()

    _executed(run)

    assert canceled.is_set()
    assert run.state == RunState.CANCELED


def test_a_checkpoint_without_the_lease_stops_the_handler() -> None:
    """R9: stop at once, touch nothing."""

    def work(context: RunContext) -> Result:
        AgentRun.objects.filter(id=run.id).update(lease_owner="somebody else")
        context.checkpoint({"step": 1})
        return Result()

    _plain(work)
    run = _queued()

    _executed(run)

    assert (run.state, run.lease_owner) == (RunState.RUNNING, "somebody else")
    assert run.checkpoint is None


@pytest.mark.usefixtures("_stopping")
def test_a_stopping_worker_claims_nothing() -> None:
    """W6."""
    _plain(_says("never"))
    run = _queued()
    stopping.request_stop()

    assert not engine.execute(run.id)


@pytest.mark.usefixtures("_stopping")
def test_a_stopping_worker_releases_its_run_when_the_grace_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """W6: released, not counted as a requeue."""
    monkeypatch.setattr(stopping, "GRACE_SECONDS", 0.0)

    def work(context: RunContext) -> Result:
        stopping.request_stop()
        while True:
            context.check()

    _plain(work)

    run = _executed(_queued())

    assert (run.state, run.requeues) == (RunState.QUEUED, 0)


def test_an_interrupted_terminal_leaves_the_run_for_later() -> None:
    def work(_: RunContext) -> Result:
        raise KeyboardInterrupt

    _plain(work)
    try:
        run = _executed(_queued())
        assert stopping.is_stopping()
    finally:
        stopping.reset()

    assert (run.state, run.requeues) == (RunState.QUEUED, 1)


@pytest.mark.parametrize(
    "leave_open",
    [
        lambda: connection.cursor().execute("BEGIN"),
        lambda: connection.set_autocommit(False),
        lambda: transaction.atomic().__enter__(),
    ],
    ids=["raw BEGIN", "autocommit off", "atomic"],
)
def test_a_transaction_that_a_handler_leaves_open_swallows_no_outcome(
    leave_open: Callable[[], object], caplog: pytest.LogCaptureFixture
) -> None:
    def work(_: RunContext) -> Result:
        leave_open()
        return Result(outputs=(text_output("done"),))

    _plain(work)

    run = _executed(_queued())

    assert run.state == RunState.COMPLETED
    assert connection.get_autocommit()
    assert "transaction was left open" in caplog.text


def test_a_run_of_another_release_is_tried_again_and_not_for_ever() -> None:
    run = _queued("llm.text", configuration=factories.make_configuration())
    run.checkpoint = dump_document({"messages": []}).replace(
        '"format": 1', '"format": 2'
    )
    run.save()

    _executed(run)

    assert (run.state, run.requeues) == (RunState.QUEUED, 1)
    assert run.due_at > clock.database_now()

    AgentRun.objects.update(requeues=3, due_at=clock.database_now())
    assert _executed(run).end_reason == EndReason.RETRIES_EXHAUSTED


def test_the_supervisor_holds_no_connection_when_there_is_nothing_to_do() -> None:
    _plain(_says("done"))

    _executed(_queued())

    assert supervisor.supervisor.idle.wait(5)
    assert connection.is_usable()


def test_what_is_asked_under_a_level_that_became_stricter_is_made_anew() -> None:
    """R16: nothing of it is stored as it was."""
    provider = factories.make_provider()

    def ask(context: RunContext) -> Result:
        Provider.objects.update(answer_level="redacted")
        context.ask(Question(text="Is it ada@example.org?"))
        raise AssertionError("nobody has answered")

    configuration = factories.make_configuration(provider=provider)
    run = _queued(_plain(ask), configuration=configuration)

    first, second = _executed(run).state, _executed(run).state

    assert (first, second) == (RunState.QUEUED, RunState.WAITING_FOR_INPUT)
    asked = waiting.load(run.waiting_for or "")
    assert isinstance(asked, waiting.OpenQuestion)
    assert asked.question.text == "Is it [redacted]?"
    assert run.requeues == 0
