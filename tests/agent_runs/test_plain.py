"""Plain handlers within a segment, and how they ask (R8, R16, T8–T10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from django.contrib.auth.models import Group
from django.db import transaction

from agent_runs import (
    clock,
    deciding,
    engine,
    handlers,
    lifecycle,
    plain,
    queue,
    supervisor,
)
from agent_runs.contents import Result, RunInput, TextPart, load_result
from agent_runs.effects import Effect
from agent_runs.handlers import PlainHandler, RunContext
from agent_runs.models import AgentRun, EndReason, RunState
from agent_runs.plain import PlainContext
from agent_runs.questions import Answer, BadAnswer, Field, Question, ValueType
from agent_runs.segment import Ending, Segment, SegmentEnded
from tests import factories
from tests.agent_runs.segments import make_segment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Handlers run as in a worker, with transactions of their own.
pytestmark = pytest.mark.django_db(transaction=True)

INPUT = RunInput(parts=(TextPart(text="hi"),))


def _context(segment: Segment, *, may_repeat: bool = True) -> PlainContext:
    return PlainContext(segment, INPUT, may_repeat=may_repeat)


def test_a_context_gives_the_input_and_no_state_at_first() -> None:
    context = _context(make_segment())

    assert (context.input, context.checkpoint_state) == (INPUT, None)


def test_a_later_segment_finds_what_the_last_checkpoint_stored() -> None:
    """R8."""
    segment = make_segment()
    _context(segment).checkpoint({"done": [1, 2]})
    segment.run.refresh_from_db()

    assert _context(segment).checkpoint_state == {"done": [1, 2]}


@pytest.mark.parametrize(
    ("may_repeat", "has_checkpoint", "interrupted"),
    [(True, False, True), (False, False, False), (False, True, True)],
    ids=["repeatable", "a write", "a write with a checkpoint"],
)
def test_a_stopping_worker_interrupts_only_what_can_go_on(
    may_repeat: bool, has_checkpoint: bool, interrupted: bool
) -> None:
    segment = make_segment()
    context = _context(segment, may_repeat=may_repeat)
    if has_checkpoint:
        context.checkpoint(1)
    segment.end(Ending.STOPPING)

    try:
        context.check()
    except SegmentEnded:
        assert interrupted
    else:
        assert not interrupted


@pytest.mark.parametrize("effect", list(Effect))
def test_only_what_must_not_be_repeated_is_marked_before_it_starts(
    effect: Effect,
) -> None:
    class Handler(PlainHandler):
        name = "test.marked"

        def run(self, context: RunContext) -> Result:
            stored = AgentRun.objects.get(id=segment.run.id)
            return Result(note="marked" if stored.has_effects else "")

    Handler.effect = effect
    segment = make_segment()

    result = plain.run(Handler(), segment, INPUT)

    assert bool(result.note) is (effect is Effect.NON_IDEMPOTENT_WRITE)


# --- Asking ---------------------------------------------------------------------------

COLOUR = Question(text="Which colour?")
SIZE = Question(text="Which size?", fields=(Field(type=ValueType.INTEGER),))
TELLER = deciding.Teller(name="peer")


class KilledError(SystemExit):
    """As Celery's own ways to end a worker: nothing is moved."""


class Asking(PlainHandler):
    name: ClassVar[str] = "test.asking"
    effect: ClassVar[Effect] = Effect.READ_ONLY
    work: ClassVar[Callable[[RunContext], str]]

    def run(self, context: RunContext) -> Result:
        return Result(note=type(self).work(context))


@pytest.fixture(scope="module", autouse=True)
def _supervisor_rests() -> Iterator[None]:
    """Its connection would keep the test database from being dropped."""
    yield
    assert supervisor.supervisor.idle.wait(5)


@pytest.fixture(autouse=True)
def _no_handler_stays() -> Iterator[None]:
    yield
    handlers.unregister(Asking.name)


def _queued(
    work: Callable[[RunContext], str],
    effect: Effect = Effect.READ_ONLY,
    **columns: Any,
) -> AgentRun:
    values = {"work": staticmethod(work), "effect": effect}
    handlers.register(type("Working", (Asking,), values)())
    return factories.make_run(handler=Asking.name, **columns)


def _executed(run: AgentRun) -> AgentRun:
    assert engine.execute(run.id)
    run.refresh_from_db()
    return run


def _killed(run: AgentRun) -> AgentRun:
    """The worker dies within this segment, and the reaper finds the run."""
    with pytest.raises(KilledError):
        engine.execute(run.id)
    AgentRun.objects.filter(id=run.id).update(
        lease_expires_at=clock.database_now() - lifecycle.LEASE_TIME
    )
    queue.reap()
    run.refresh_from_db()
    return run


def _answered(run: AgentRun, given: str, message_id: str = "") -> AgentRun:
    deciding.answer(run.id, given, by=TELLER, message_id=message_id)
    return _executed(run)


def _note(run: AgentRun) -> str:
    assert run.state == RunState.COMPLETED, run.end_reason
    assert run.result
    return load_result(run.result).note


def _asked(run: AgentRun) -> Question:
    assert run.state == RunState.WAITING_FOR_INPUT, (run.state, run.end_reason)
    return deciding.open_question(run.id)[1].question


def test_a_handler_that_asks_waits_and_holds_nothing() -> None:
    """R2, T8: and the question is an event."""
    run = _executed(_queued(lambda context: context.ask(COLOUR).text))

    assert _asked(run) == COLOUR
    assert (run.lease_owner, run.result) == ("", None)
    [event] = run.events.filter(kind="question")
    assert (event.facts, event.content) == (
        {"tool": "", "fields": 1},
        "Which colour?\nA text.",
    )


def test_an_answered_handler_begins_again_and_is_given_the_answer() -> None:
    answers: list[Answer] = []
    begun: list[str] = []

    def work(context: RunContext) -> str:
        begun.append(context.input.text)
        answers.append(context.ask(COLOUR))
        return answers[-1].text

    run = _executed(_queued(work, text="paint"))

    assert _note(_answered(run, " blue ", message_id="m-2")) == "blue"
    assert answers == [Answer(value="blue", message_id="m-2")]
    assert begun == ["paint", "paint"]


def test_an_answer_has_the_type_that_was_asked_for() -> None:
    """T8."""
    run = _executed(_queued(lambda context: repr(context.ask(SIZE).value)))

    assert _note(_answered(run, "42")) == "42"


def test_a_bad_answer_costs_nothing() -> None:
    """T8: the run waits as it did, and the right one is still taken."""
    run = _executed(_queued(lambda context: repr(context.ask(SIZE).value)))

    with pytest.raises(BadAnswer, match=r"A whole number\."):
        deciding.answer(run.id, "large", by=TELLER)

    assert not engine.execute(run.id)
    assert _asked(run) == SIZE
    assert _note(_answered(run, "42")) == "42"


def test_several_questions_are_asked_one_after_another() -> None:
    def work(context: RunContext) -> str:
        return f"{context.ask(COLOUR).text} {context.ask(SIZE).value}"

    run = _executed(_queued(work))

    assert _asked(run) == COLOUR
    assert _asked(_answered(run, "blue")) == SIZE
    assert _note(_answered(run, "42")) == "blue 42"
    assert run.segments == 3


def test_a_question_is_the_same_one_unless_it_has_another_name() -> None:
    def work(context: RunContext) -> str:
        names = "", "", "second", "second", "third"
        return " ".join(context.ask(COLOUR, name=name).text for name in names)

    run = _answered(_executed(_queued(work)), "red")
    run = _answered(run, "green")

    assert _note(_answered(run, "blue")) == "red red green green blue"


def test_an_answer_to_a_name_stays_whatever_is_asked_under_it() -> None:
    texts = iter(["At noon?", "At one?"])

    def work(context: RunContext) -> str:
        return context.ask(Question(text=next(texts)), name="when").text

    run = _executed(_queued(work))

    assert _note(_answered(run, "yes")) == "yes"


def test_what_a_handler_stored_before_it_asked_is_there_when_it_is_answered() -> None:
    """R8."""
    done: list[str] = []

    def work(context: RunContext) -> str:
        if context.checkpoint_state is None:
            done.append("first half")
            context.checkpoint({"half": 1})
        answer = context.ask(COLOUR)
        return f"{context.checkpoint_state} {answer.text}"

    run = _executed(_queued(work, Effect.NON_IDEMPOTENT_WRITE))

    assert _note(_answered(run, "blue")) == "{'half': 1} blue"
    assert done == ["first half"]


def test_answers_survive_a_checkpoint_and_a_dead_worker() -> None:
    """R8, R12: nobody is asked twice."""
    deaths = iter([True, False])

    def work(context: RunContext) -> str:
        answer = context.ask(COLOUR)
        if context.checkpoint_state is None:
            context.checkpoint("asked")
            if next(deaths):
                raise KilledError
        return f"{context.checkpoint_state} {answer.text} {answer.message_id}"

    run = _executed(_queued(work, Effect.NON_IDEMPOTENT_WRITE))
    deciding.answer(run.id, "blue", by=TELLER, message_id="m-2")

    run = _killed(run)

    assert (run.state, run.requeues) == (RunState.QUEUED, 1)
    assert _note(_executed(run)) == "asked blue m-2"


# --- Asking, and workers that die -----------------------------------------------------


def _dies_at(begin: int, begun: list[int]) -> Callable[[RunContext], str]:
    """Asks at once; its worker dies after the answer, at that beginning."""

    def work(context: RunContext) -> str:
        begun.append(len(begun) + 1)
        answer = context.ask(COLOUR)
        if begun[-1] == begin:
            raise KilledError
        return answer.text

    return work


def test_an_answered_write_whose_worker_dies_is_never_begun_again() -> None:
    """R12: what it did after the answer nobody knows."""
    begun: list[int] = []
    work = _dies_at(2, begun)
    run = _executed(_queued(work, Effect.NON_IDEMPOTENT_WRITE))
    deciding.answer(run.id, "blue", by=TELLER)

    run = _killed(run)

    assert (run.state, run.end_reason) == (
        RunState.FAILED,
        EndReason.LEASE_LOST_AFTER_WRITE,
    )
    assert begun == [1, 2]


def test_an_answered_write_whose_worker_died_before_it_began_is_begun() -> None:
    """R12: a claim alone did nothing yet."""
    run = _executed(
        _queued(lambda context: context.ask(COLOUR).text, Effect.NON_IDEMPOTENT_WRITE)
    )
    deciding.answer(run.id, "blue", by=TELLER)
    past = clock.database_now() - 2 * lifecycle.LEASE_TIME
    assert lifecycle.claim(run.id, owner="dead", now=clock.database_now())
    AgentRun.objects.filter(id=run.id).update(lease_expires_at=past)

    queue.reap()

    assert _note(_executed(run)) == "blue"


@pytest.mark.parametrize("effect", list(Effect))
def test_a_run_that_waits_is_not_harmed_by_whatever_becomes_of_workers(
    effect: Effect,
) -> None:
    """R11: it holds no lease that could run out."""
    run = _executed(_queued(lambda context: context.ask(COLOUR).text, effect))

    queue.reap()

    assert _note(_answered(run, "blue")) == "blue"


@pytest.mark.parametrize("effect", [Effect.READ_ONLY, Effect.IDEMPOTENT_WRITE])
def test_what_may_repeat_is_begun_again_and_keeps_its_answers(effect: Effect) -> None:
    """R11."""
    begun: list[int] = []
    run = _executed(_queued(_dies_at(2, begun), effect))
    deciding.answer(run.id, "blue", by=TELLER)

    run = _killed(run)

    assert run.state == RunState.QUEUED
    assert _note(_executed(run)) == "blue"
    assert begun == [1, 2, 3]


def test_a_write_that_dies_on_its_way_from_a_question_is_never_begun_again() -> None:
    """R12: it kept the exception to itself, and went on to do who knows what."""

    def work(context: RunContext) -> str:
        try:
            return context.ask(COLOUR).text
        except Exception:  # noqa: BLE001 -- as somebody's handler might
            raise KilledError from None

    run = _killed(_queued(work, Effect.NON_IDEMPOTENT_WRITE))

    assert run.end_reason == EndReason.LEASE_LOST_AFTER_WRITE


# --- Asking, and what handlers make of it ---------------------------------------------


def _swallows(context: RunContext) -> str:
    try:
        return context.ask(COLOUR).text
    except Exception:  # noqa: BLE001 -- as somebody's handler might
        return "no answer"


def _fails_instead(context: RunContext) -> str:
    try:
        return context.ask(COLOUR).text
    except Exception as error:
        raise LookupError("no answer") from error


def _goes_on(context: RunContext) -> str:
    for act in (context.ask, context.checkpoint, context.ask):
        try:
            answer = act(COLOUR)  # type: ignore[operator]
        except Exception:  # noqa: BLE001, S112 -- as somebody's handler might
            continue
    return str(answer.text)


@pytest.mark.parametrize("work", [_swallows, _fails_instead, _goes_on])
def test_a_handler_that_asked_waits_whatever_it_makes_of_it(
    work: Callable[[RunContext], str],
) -> None:
    run = _executed(_queued(work))

    assert _asked(run) == COLOUR
    assert run.result is None


def test_after_a_question_nothing_is_stored_before_the_answer() -> None:
    def work(context: RunContext) -> str:
        try:
            answer = context.ask(COLOUR)
        except Exception:
            context.checkpoint("too late")
            raise
        return f"{answer.text} {context.checkpoint_state}"

    run = _executed(_queued(work))

    assert _note(_answered(run, "blue")) == "blue None"


@pytest.mark.parametrize("effect", list(Effect))
def test_a_question_within_a_transaction_undoes_it_and_loses_no_answer(
    effect: Effect,
) -> None:
    def work(context: RunContext) -> str:
        with transaction.atomic():
            Group.objects.create(name="written")
            return f"{context.ask(COLOUR).text} {context.ask(SIZE).value}"

    run = _executed(_queued(work, effect))
    assert not Group.objects.exists()

    assert _asked(_answered(run, "blue")) == SIZE
    assert _note(_answered(run, "42")) == "blue 42"
    assert Group.objects.count() == 1


@pytest.mark.parametrize("effect", list(Effect))
def test_a_transaction_left_open_does_not_swallow_the_answers(effect: Effect) -> None:
    def work(context: RunContext) -> str:
        transaction.set_autocommit(False)
        told = f"{context.ask(COLOUR).text} {context.ask(SIZE).value}"
        transaction.set_autocommit(True)
        return told

    run = _answered(_executed(_queued(work, effect)), "blue")

    assert _asked(run) == SIZE
    assert _note(_answered(run, "42")) == "blue 42"


# --- Asking, and everybody else -------------------------------------------------------


def test_a_run_canceled_while_it_waits_takes_no_answer() -> None:
    """R3, T10."""
    run = _executed(_queued(lambda context: context.ask(COLOUR).text))
    assert lifecycle.cancel(run.id)

    with pytest.raises(deciding.NotWaiting):
        deciding.answer(run.id, "blue", by=TELLER)

    run.refresh_from_db()
    assert run.state == RunState.CANCELED
    assert (run.checkpoint, run.pending, run.waiting_for) == (None, None, None)


def test_a_second_answer_is_told_that_nothing_waits() -> None:
    """T10."""
    run = _executed(_queued(lambda context: context.ask(COLOUR).text))
    deciding.answer(run.id, "blue", by=TELLER)

    with pytest.raises(deciding.NotWaiting):
        deciding.answer(run.id, "red", by=TELLER)

    assert _note(_executed(run)) == "blue"


def test_an_answer_to_the_former_question_is_refused() -> None:
    """T9."""

    def work(context: RunContext) -> str:
        return f"{context.ask(COLOUR).text} {context.ask(SIZE).value}"

    run = _executed(_queued(work))
    former = run.waiting_id
    run = _answered(run, "blue")

    with pytest.raises(deciding.SomethingElse):
        deciding.answer(run.id, "42", by=TELLER, question_id=former)

    assert _asked(run) == SIZE


@pytest.mark.parametrize("level", ["none", "metadata"])
def test_nothing_is_asked_where_nothing_may_be_kept(level: str) -> None:
    """R16."""
    run = _executed(
        _queued(lambda context: context.ask(COLOUR).text, answer_level=level)
    )

    assert (run.state, run.end_reason) == (RunState.FAILED, EndReason.POLICY_DENIED)
    assert (run.waiting_for, run.checkpoint) == (None, None)


def test_a_redacted_question_is_shown_masked_and_answered_as_ever() -> None:
    """R16: and the event of the answer is masked too."""
    question = Question(text="Is it api_key=abc12345?")
    run = _executed(
        _queued(lambda context: context.ask(question).text, answer_level="redacted")
    )

    assert _asked(run).text == "Is it api_key=[redacted]"
    assert _note(_answered(run, "yes")) == "yes"
    told = [event.content or "" for event in run.events.all()]
    assert "abc12345" not in str(told)


def test_a_question_that_cannot_be_asked_fails_the_run() -> None:
    """T7: a handler's mistake, told to the log alone."""
    run = _executed(_queued(lambda context: context.ask(Question(text="")).text))

    assert (run.state, run.end_reason) == (RunState.FAILED, EndReason.NOT_RETRYABLE)


def test_a_stopping_worker_lets_a_write_ask_first() -> None:
    segment = make_segment()
    context = _context(segment, may_repeat=False)
    context.begin()
    segment.end(Ending.STOPPING)

    with pytest.raises(plain.Asked):
        context.ask(COLOUR)
