"""Messages to a task that asks, as the operation takes them."""

from __future__ import annotations

import json
import uuid
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from a2a_protocol.cards import PROFILE_EXTENSION_URI
from a2a_protocol.errors import ErrorCode
from a2a_server import documents, own_tasks
from a2a_server.models import (
    Client,
    ClientProfile,
    Profile,
    Task,
    TaskCounter,
    TaskEvent,
    TaskMessage,
    TaskState,
    WaitingSlot,
)
from a2a_server.operations.calls import Wait
from agent_runs import clock, deciding, engine, handlers, lifecycle
from agent_runs.contents import Result, TextPart, text_output
from agent_runs.deciding import Teller
from agent_runs.models import AgentRun, AgentRunEvent, EndReason, RunState
from agent_runs.models.llm import ProviderKind
from agent_runs.models.run import EventKind
from agent_runs.questions import Field, Question, ValueType, choice
from agent_runs.transcript import Decisions
from agent_runs.waiting import open_question
from tests import factories
from tests.a2a_server import toolbox
from tests.a2a_server.calling import (
    AnsweringHandler,
    SilentHandler,
    ask,
    assert_invalid,
    claim,
    complete,
    make_answer,
    make_params,
    make_task,
    perform,
    read_task,
    refusal_of,
    result_of,
    send,
)
from tests.a2a_server.racing import assert_counters_are_right, together
from tests.agent_runs import openai_server

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_django import DjangoAssertNumQueries, DjangoCaptureOnCommitCallbacks
    from pytest_django.fixtures import Settings

    from a2a_protocol.errors import ProtocolError
    from agent_runs.handlers import RunContext

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("worker")]

COLOUR = choice("Which colour?", ["red", "blue"], allow_free_text=False)
SIZE = Question(text="Which size?", fields=(Field(type=ValueType.INTEGER),))


class AskingHandler(SilentHandler):
    """Asks twice and gives both answers."""

    name: ClassVar[str] = "test.asking"

    def run(self, context: RunContext) -> Result:
        colour = context.ask(COLOUR, name="colour")
        size = context.ask(SIZE, name="size")
        return Result(outputs=(text_output(f"{colour.text} {size.value!r}"),))


@pytest.fixture
def waiting(partner: Client) -> dict[str, Any]:
    """The partner's task that asks for a colour."""
    task = send(partner)
    ask(task)
    return read_task(partner, task["id"])


def answer(
    client: Client, task: dict[str, Any], text: str = "red", **members: Any
) -> Any:
    params = make_params(make_answer(task, text, **members))
    return result_of(client, "SendMessage", params)["task"]


def refused(client: Client, message: dict[str, Any], **members: Any) -> ProtocolError:
    return refusal_of(client, "SendMessage", make_params(message, **members))


def wait_for(client: Client, message: dict[str, Any]) -> Wait:
    outcome = perform(client, "SendMessage", make_params(message, immediate=False))
    assert isinstance(outcome, Wait)
    return outcome


def finish(wait: Wait) -> Any:
    reply = wait.finish(is_last=False)
    return json.loads(reply.result_json) if reply else None


def naming(question_id: object) -> dict[str, Any]:
    return {"metadata": {PROFILE_EXTENSION_URI: {"questionId": question_id}}}


def question_id_of(task: dict[str, Any]) -> Any:
    told = task["status"]["message"]["metadata"][PROFILE_EXTENSION_URI]
    return told["questionId"]


def counts() -> dict[str, int]:
    rows = TaskCounter.objects.filter(count__gt=0)
    return dict(rows.values_list("state", "count"))


def everything() -> list[Any]:
    """All that an answer could change."""
    tasks = Task.objects.values_list("state", "status_at", "history", "events_written")
    runs = AgentRun.objects.values_list(
        "state", "waiting_id", "events_written", "due_at"
    )
    return [*tasks, *runs, TaskMessage.objects.count(), WaitingSlot.objects.count()]


# --- Accepting ------------------------------------------------------------------------


def test_an_answer_lets_the_task_work_again(
    partner: Client, waiting: dict[str, Any]
) -> None:
    """S72, S60, S63: run, task, history, event and counters together."""
    working = answer(partner, waiting, messageId="m-2")

    assert working == read_task(partner, waiting["id"])
    assert (working["id"], working["contextId"]) == (
        waiting["id"],
        waiting["contextId"],
    )
    assert working["status"]["state"] == "TASK_STATE_WORKING"
    assert "message" not in working["status"]
    assert working["status"]["timestamp"] >= waiting["status"]["timestamp"]
    given = {
        "messageId": "m-2",
        "contextId": waiting["contextId"],
        "taskId": waiting["id"],
        "role": "ROLE_USER",
        "parts": [{"text": "red"}],
    }
    assert working["history"] == [*waiting["history"], given]
    last = TaskEvent.objects.order_by("sequence").last()
    assert last
    status = json.loads(last.payload)["statusUpdate"]["status"]
    assert status == working["status"]
    assert counts() == {"working": 1}
    keys = TaskMessage.objects.filter(task=waiting["id"])
    assert list(keys.order_by("pk").values_list("dedupe_key", flat=True))[1:] == ["m-2"]


def test_the_run_gets_the_answer_and_who_gave_it(
    partner: Client, waiting: dict[str, Any]
) -> None:
    """S72, R15: with the sender's own id of the message."""
    answer(partner, waiting, "blue", messageId="m-2")

    run = AgentRun.objects.get()
    assert (run.state, run.waiting_id) == (RunState.QUEUED, "")
    assert run.due_at
    assert run.pending
    (given,) = Decisions.load(run.pending).answers.values()
    assert (given.value, given.message_id) == ("blue", "m-2")
    event = AgentRunEvent.objects.get(kind=EventKind.ANSWER)
    assert (event.facts["by"], event.content) == ("partner", "blue")


@pytest.mark.django_db(transaction=True)
def test_a_run_goes_on_with_what_it_was_answered(
    partner: Client, profile: Profile
) -> None:
    """S71, S72, T7: question by question to the end."""
    handlers.register(AskingHandler())
    Profile.objects.filter(pk=profile.pk).update(handler=AskingHandler.name)
    task = send(partner, "Order.")
    run_id = AgentRun.objects.get().pk

    states = []
    for given in ("red", "7"):
        assert engine.execute(run_id)
        states.append(read_task(partner, task["id"])["status"]["state"])
        answer(partner, task, given)
    assert engine.execute(run_id)

    done = read_task(partner, task["id"])
    assert states == ["TASK_STATE_INPUT_REQUIRED"] * 2
    assert done["status"]["state"] == "TASK_STATE_COMPLETED"
    assert done["artifacts"][0]["parts"] == [{"text": "red 7"}]
    said = [message["parts"][0]["text"].splitlines()[0] for message in done["history"]]
    assert said == ["Order.", "Which colour?", "red", "Which size?", "7"]


def test_several_values_are_answered_with_an_object(partner: Client) -> None:
    """S71, T8."""
    fields = (Field(name="size", type=ValueType.INTEGER), Field(name="note"))
    question = Question(text="What?", fields=fields)
    task = send(partner)
    ask(task, open_question(question, key="k", asked_by=["k"]))
    values = {"size": 5, "note": "now"}

    answer(partner, task, parts=[{"data": values}])

    pending = AgentRun.objects.get().pending
    assert pending
    assert Decisions.load(pending).answers["k"].value == values


def test_an_answer_may_name_its_question_context_and_skill(
    partner: Client, waiting: dict[str, Any]
) -> None:
    """S70, S71: and any member that is not acted on."""
    members = {"contextId": waiting["contextId"], "referenceTaskIds": ["x"]}
    message = make_answer(waiting, **naming(question_id_of(waiting)) | members)
    params = make_params(message, metadata={PROFILE_EXTENSION_URI: "silent"})

    working = result_of(partner, "SendMessage", params)["task"]

    assert working["status"]["state"] == "TASK_STATE_WORKING"
    assert working["history"][-1]["metadata"] == message["metadata"]


def test_an_answer_takes_few_queries(
    partner: Client,
    waiting: dict[str, Any],
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    """S72: 18 statements, and three savepoints where this test has a transaction.

    Repeat, task, question, time, worker; then lock, message, question, time, run and its
    event, five for the task as at every move, task and its history.
    """
    message = make_answer(waiting)

    with django_assert_num_queries(18 + 3 * 2):
        result_of(partner, "SendMessage", make_params(message))


def test_the_nudge_leaves_after_the_commit(
    partner: Client,
    waiting: dict[str, Any],
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    """S72: handed to a worker."""
    with django_capture_on_commit_callbacks() as callbacks:
        answer(partner, waiting)

    assert len(callbacks) == 2


def test_history_keeps_the_last_hundred_of_questions_and_answers(
    partner: Client,
) -> None:
    """S63."""
    task = send(partner, "first")
    for number in range(51):
        ask(task, factories.make_question(f"Question {number}?", key=f"k-{number}"))
        answer(partner, task, f"answer {number}")

    history = read_task(partner, task["id"])["history"]
    assert len(history) == 100
    assert history[0]["parts"][0]["text"].startswith("Question 1?")
    assert history[-1]["parts"] == [{"text": "answer 50"}]
    assert documents.KEPT_MESSAGES == 100


def test_history_length_holds_for_an_answers_reply(
    partner: Client, waiting: dict[str, Any]
) -> None:
    """S63, B044: and changes nothing that is stored."""
    params = make_params(make_answer(waiting), configuration={"historyLength": 1})

    shown = result_of(partner, "SendMessage", params)["task"]

    assert [message["role"] for message in shown["history"]] == ["ROLE_USER"]
    assert len(read_task(partner, waiting["id"])["history"]) == 3


# --- Waiting for what comes of it -----------------------------------------------------


def test_a_blocking_answer_waits_for_the_end(
    partner: Client, waiting: dict[str, Any]
) -> None:
    """S44, S72."""
    wait = wait_for(partner, make_answer(waiting))
    assert finish(wait) is None

    complete(claim(waiting))

    assert str(wait.task_id) == waiting["id"]
    assert finish(wait)["task"] == read_task(partner, waiting["id"])


def test_a_blocking_answer_waits_for_the_next_question(
    partner: Client, waiting: dict[str, Any]
) -> None:
    """S44, B042: INPUT_REQUIRED ends the wait each time."""
    wait = wait_for(partner, make_answer(waiting))

    ask(waiting, factories.make_question("And which size?"))

    asking = finish(wait)["task"]
    assert asking["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert question_id_of(asking) != question_id_of(waiting)


def test_a_question_is_a_task_where_the_answer_would_be_a_message(
    partner: Client, profile: Profile
) -> None:
    """S62."""
    handlers.register(AnsweringHandler())
    Profile.objects.filter(pk=profile.pk).update(handler=AnsweringHandler.name)
    first = perform(partner, "SendMessage", make_params(immediate=False))
    assert isinstance(first, Wait)
    task = {"id": str(first.task_id)}

    ask(task)
    asking = finish(first)
    second = wait_for(partner, make_answer(task))
    complete(claim(task), result=Result(message=(TextPart(text="A."),)))

    assert asking["task"]["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert finish(second)["message"]["parts"] == [{"text": "A."}]


# --- Bad answers ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"parts": [{"text": "green"}]}, "message.parts[0].text"),
        ({"parts": [{"data": {"answer": 5}}]}, "message.parts[0].data"),
        ({"parts": [{"text": "red"}, {"data": "red"}]}, "message.parts"),
    ],
)
def test_a_bad_answer_costs_nothing(
    partner: Client, waiting: dict[str, Any], members: dict[str, Any], field: str
) -> None:
    """S71, T8: nothing changes, and the message id is free again."""
    before = everything()
    message = make_answer(waiting, messageId="m-2", **members)

    assert_invalid(refused(partner, message), field)

    assert everything() == before
    assert read_task(partner, waiting["id"]) == waiting
    assert (
        answer(partner, waiting, messageId="m-2")["history"][-1]["messageId"] == "m-2"
    )


def test_the_answer_to_another_question_changes_nothing(
    partner: Client, waiting: dict[str, Any]
) -> None:
    """S71, T9: though it would fit, and although the question asked the same before."""
    earlier = question_id_of(waiting)
    answer(partner, waiting)
    ask(waiting, factories.make_question("Which colour?", "red", "blue", key="call-2"))
    before = everything()

    error = refused(partner, make_answer(waiting, **naming(earlier)))

    assert_invalid(error, f"message.metadata.{PROFILE_EXTENSION_URI}.questionId")
    assert everything() == before


def test_a_file_is_no_answer(partner: Client, waiting: dict[str, Any]) -> None:
    """S42."""
    before = everything()
    parts = [{"text": "red"}, {"raw": "AAAA", "mediaType": "image/png"}]

    error = refused(partner, make_answer(waiting, parts=parts))

    assert error.code is ErrorCode.CONTENT_TYPE_NOT_SUPPORTED
    assert everything() == before


def test_another_context_or_skill_changes_nothing(
    partner: Client, waiting: dict[str, Any]
) -> None:
    """S70, B034: a context that exists and one that does not."""
    known = send(partner)["contextId"]
    before = everything()

    for context in (known, str(uuid.uuid4())):
        error = refused(partner, make_answer(waiting, contextId=context))
        assert_invalid(error, "message.contextId")
    error = refused(
        partner, make_answer(waiting), metadata={PROFILE_EXTENSION_URI: "other"}
    )

    assert_invalid(error, "metadata")
    assert everything() == before


def test_a_foreign_task_that_asks_is_unknown(
    rival: Client, waiting: dict[str, Any]
) -> None:
    """S64, B033: whatever the message says."""
    before = everything()

    foreign = refused(rival, make_answer(waiting, "green", contextId="x"))
    unknown = refused(rival, make_answer({"id": str(uuid.uuid4())}))

    assert (foreign.code, foreign.message) == (unknown.code, unknown.message)
    assert foreign.code is ErrorCode.TASK_NOT_FOUND
    assert foreign.metadata == unknown.metadata == {}
    assert everything() == before


# --- Order and limits -----------------------------------------------------------------


def test_the_first_refusal_of_an_answer_answers(
    partner: Client, waiting: dict[str, Any], settings: Settings
) -> None:
    """S39: each cure uncovers the next refusal in the order."""
    settings.A2A_SERVER_MAX_WAITING_REQUESTS = 1
    perform(partner, "SendMessage", make_params(immediate=False))
    worker_seen = clock.database_now()
    factories.WorkerHeartbeat.objects.update(
        last_seen_at=worker_seen - timedelta(days=1)
    )
    message = make_answer(
        waiting, "green", contextId="other", **naming("another question")
    )
    message["parts"].append({"url": "https://files.example/x"})
    found = []

    def note() -> None:
        params = make_params(message, immediate=False)
        error = refusal_of(partner, "SendMessage", params)
        fields = [violation.field.split(".")[1] for violation in error.violations]
        found.append("".join(fields) or error.reason or error.code.name)

    note()
    del message["contextId"]
    note()
    del message["metadata"]
    note()
    del message["parts"][1]
    note()
    message["parts"][0]["text"] = "red"
    note()
    factories.WorkerHeartbeat.objects.update(last_seen_at=worker_seen)
    note()

    assert found == [
        "contextId",
        "metadata",
        "CONTENT_TYPE_NOT_SUPPORTED",
        "parts[0]",
        "WORKER_UNAVAILABLE",
        "WAITING_CAPACITY_EXHAUSTED",
    ]
    assert read_task(partner, waiting["id"]) == waiting


def test_an_answer_is_never_refused_for_a_limit(
    partner: Client, profile: Profile, waiting: dict[str, Any]
) -> None:
    """S48, S72: the count may stand above the limit then."""
    Client.objects.filter(pk=partner.pk).update(task_limit=1)
    Profile.objects.filter(pk=profile.pk).update(active_task_quota=1)
    send(partner)

    answer(partner, waiting)

    assert counts() == {"submitted": 1, "working": 1}
    error = refusal_of(partner, "SendMessage", make_params())
    assert error.reason == "CLIENT_TASK_LIMIT_REACHED"


@pytest.mark.django_db(transaction=True)
def test_a_withdrawn_skill_takes_the_answer_and_fails(
    partner: Client, waiting: dict[str, Any]
) -> None:
    """S71, S73: no handler is called, and the client learns nothing internal."""
    ClientProfile.objects.all().delete()

    answer(partner, waiting)
    assert engine.execute(AgentRun.objects.get().pk)

    status = read_task(partner, waiting["id"])["status"]
    assert status["state"] == "TASK_STATE_FAILED"
    sentence = documents.FAILURE_SENTENCES[EndReason.PRECONDITION_FAILED]
    assert status["message"]["parts"] == [{"text": sentence}]


@pytest.mark.django_db(transaction=True)
def test_the_tool_that_asked_must_still_be_permitted(worker: None) -> None:
    """S71, T3, S73: the model is not called again, and the client learns nothing."""
    permission = "agent_runs.publish_draft"
    asker = toolbox.asker(permission=permission)
    user = factories.make_user(permissions=[permission])
    with openai_server.running() as server, toolbox.registered(asker):
        provider = factories.make_provider(
            kind=ProviderKind.OPENAI_COMPATIBLE, base_url=server.base_url
        )
        asking = factories.make_profile(
            configuration=factories.make_configuration(provider=provider),
            tools=[asker.name],
        )
        client = factories.make_client(profiles=[asking], technical_user=user)
        server.answer = openai_server.tool_call(asker.name, "{}", call_id="c1")
        task = send(client)
        run_id = AgentRun.objects.get().pk
        assert engine.execute(run_id)
        user.user_permissions.clear()

        working = answer(client, task)
        assert engine.execute(run_id)

        assert len(server.asked) == 1
    assert working["status"]["state"] == "TASK_STATE_WORKING"
    status = read_task(client, task["id"])["status"]
    sentence = documents.FAILURE_SENTENCES[EndReason.PRECONDITION_FAILED]
    assert status["state"] == "TASK_STATE_FAILED"
    assert status["message"]["parts"] == [{"text": sentence}]


# --- Repeats and races ----------------------------------------------------------------


def test_a_repeated_answer_is_answered_with_its_task(
    partner: Client, waiting: dict[str, Any]
) -> None:
    """S47: as it is now, whatever the message says by then."""
    answer(partner, waiting, messageId="m-2")
    complete(claim(waiting))
    done = read_task(partner, waiting["id"])

    assert answer(partner, waiting, "green", messageId="m-2") == done
    again = make_params(make_answer(waiting, messageId="m-2"), immediate=False)
    assert result_of(partner, "SendMessage", again)["task"] == done
    assert TaskMessage.objects.count() == 2


def test_a_repeated_answer_waits_as_the_first_would(
    partner: Client, waiting: dict[str, Any]
) -> None:
    """S47."""
    answer(partner, waiting, messageId="m-2")

    wait = wait_for(partner, make_answer(waiting, messageId="m-2"))

    assert str(wait.task_id) == waiting["id"]


def test_an_answer_that_was_just_taken_is_a_repeat_whatever_is_asked_by_then(
    partner: Client, waiting: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """S47: between the look for it and the judgement its task asked something else."""
    message = make_answer(waiting, messageId="m-2")
    find = own_tasks.find_with_skill

    def find_later(*which: Any) -> Task:
        monkeypatch.setattr(own_tasks, "find_with_skill", find)
        result_of(partner, "SendMessage", make_params(message))
        ask(waiting, factories.make_question("Size?", "small", "large", key="call-2"))
        return find(*which)

    monkeypatch.setattr(own_tasks, "find_with_skill", find_later)

    shown = result_of(partner, "SendMessage", make_params(message))["task"]

    assert shown["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert TaskMessage.objects.filter(dedupe_key="m-2").count() == 1


def test_the_id_of_a_tasks_first_message_is_no_answer(
    partner: Client,
) -> None:
    """S47: it was used before."""
    task = send(partner, messageId="m-1")
    ask(task)
    before = everything()

    shown = answer(partner, task, messageId="m-1")

    assert shown["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert everything() == before


def test_answers_may_repeat_an_id_where_deduplication_is_off(
    partner: Client, settings: Settings
) -> None:
    """S47."""
    settings.A2A_SERVER_DEDUPLICATE_MESSAGES = False
    task = send(partner, messageId="m")
    ask(task)

    shown = answer(partner, task, messageId="m")

    assert shown["status"]["state"] == "TASK_STATE_WORKING"
    error = refused(partner, make_answer(task, messageId="m"))
    assert error.reason == "TASK_NOT_WAITING"


def cancel(run_id: uuid.UUID) -> None:
    assert lifecycle.cancel(run_id)


def answer_elsewhere(run_id: uuid.UUID) -> None:
    deciding.answer(run_id, "blue", by=Teller(name="somebody in the inbox"))


def answer_and_ask_anew(run_id: uuid.UUID) -> None:
    answer_elsewhere(run_id)
    ask(Task.objects.get(run_id=run_id), factories.make_question("Why?", key="call-2"))


def forget(run_id: uuid.UUID) -> None:
    AgentRun.objects.filter(pk=run_id).delete()


@pytest.mark.parametrize("act", [cancel, answer_elsewhere, answer_and_ask_anew, forget])
def test_whoever_is_second_is_told_that_nothing_waits(
    partner: Client,
    waiting: dict[str, Any],
    act: Callable[[uuid.UUID], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """S74, T10: the other came between the judgement and the storing."""
    run_id = AgentRun.objects.get().pk
    now = clock.database_now

    def act_meanwhile() -> Any:
        monkeypatch.setattr(clock, "database_now", now)
        act(run_id)
        return now()

    monkeypatch.setattr(clock, "database_now", act_meanwhile)
    params = make_params(make_answer(waiting, messageId="m-2"), immediate=False)

    error = refusal_of(partner, "SendMessage", params)

    assert (error.code, error.reason) == (
        ErrorCode.UNSUPPORTED_OPERATION,
        "TASK_NOT_WAITING",
    )
    assert not TaskMessage.objects.filter(dedupe_key="m-2").exists()
    assert not WaitingSlot.objects.exists()


def test_a_task_of_which_the_run_was_just_answered_does_not_wait(
    partner: Client, profile: Profile
) -> None:
    """S70, T10: between the reading of the task and that of its run."""
    task = make_task(TaskState.INPUT_REQUIRED, client=partner, profile=profile)
    AgentRun.objects.update(
        state=RunState.QUEUED, waiting_for=None, waiting_id="", due_at=task.created_at
    )

    error = refused(partner, make_answer(task))

    assert error.reason == "TASK_NOT_WAITING"


def test_an_approval_is_not_answered_by_a_client(
    partner: Client,
) -> None:
    """S70, S60: the task works meanwhile."""
    task = send(partner)
    now = clock.database_now()
    assert lifecycle.suspend(
        claim(task),
        RunState.WAITING_FOR_APPROVAL,
        waiting=factories.make_approval(),
        now=now,
    )

    assert refused(partner, make_answer(task)).reason == "TASK_NOT_WAITING"
    assert AgentRun.objects.get().state == RunState.WAITING_FOR_APPROVAL


def test_a_task_that_asks_can_be_canceled(
    partner: Client, waiting: dict[str, Any]
) -> None:
    """S66, B039, B042: at once, with no worker; and takes no answer then."""
    canceled = result_of(partner, "CancelTask", {"id": waiting["id"]})

    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
    assert counts() == {"canceled": 1}
    assert refused(partner, make_answer(waiting)).reason == "TASK_TERMINAL"


def test_a_task_that_asks_is_listed_as_such(
    partner: Client, waiting: dict[str, Any]
) -> None:
    """S65, B042."""
    listed = result_of(
        partner,
        "ListTasks",
        {"status": "TASK_STATE_INPUT_REQUIRED", "historyLength": 1},
    )

    (shown,) = listed["tasks"]
    assert shown["status"] == waiting["status"]
    assert shown["history"] == waiting["history"][-1:]


# --- At the same moment ---------------------------------------------------------------

ROUNDS = 10
# Real commits, since threads have to see each other's.
at_once = pytest.mark.django_db(transaction=True)


def asking_task(client: Client) -> dict[str, Any]:
    task = send(client)
    ask(task)
    return read_task(client, task["id"])


def calling(client: Client, message: dict[str, Any]) -> Callable[[], str]:
    params = make_params(message)
    return lambda: str(result_of(client, "SendMessage", params)["task"]["id"])


def messages_of(client: Client, task: dict[str, Any]) -> list[str]:
    history = read_task(client, task["id"])["history"]
    return [message["messageId"] for message in history]


def events_of(task: dict[str, Any], kind: EventKind) -> int:
    return AgentRunEvent.objects.filter(run__task=task["id"], kind=kind).count()


@at_once
def test_of_two_answers_at_once_one_wins(partner: Client) -> None:
    """T10, B038: the other is told that nothing waits, and leaves no trace."""
    for _ in range(ROUNDS):
        task = asking_task(partner)
        red = make_answer(task)
        blue = make_answer(task, "blue")

        told = together([calling(partner, red), calling(partner, blue)])

        assert sorted(told) == sorted([task["id"], "TASK_NOT_WAITING"])
        won = (red, blue)[told.index(task["id"])]
        assert messages_of(partner, task)[2:] == [won["messageId"]]
        keys = TaskMessage.objects.filter(task=task["id"])
        assert keys.filter(dedupe_key=won["messageId"]).count() == 1
        assert keys.count() == 2
        assert events_of(task, EventKind.ANSWER) == 1
        lifecycle.cancel(Task.objects.get(pk=task["id"]).run_id)
    assert_counters_are_right()


@at_once
def test_an_answer_that_comes_twice_at_once_is_stored_once(partner: Client) -> None:
    """S47, S72: both get the task."""
    for _ in range(ROUNDS):
        task = asking_task(partner)

        told = together([calling(partner, make_answer(task, messageId=task["id"]))] * 4)

        assert told == [task["id"]] * 4
        assert messages_of(partner, task)[2:] == [task["id"]]
        assert events_of(task, EventKind.ANSWER) == 1
        lifecycle.cancel(Task.objects.get(pk=task["id"]).run_id)
    assert_counters_are_right()


@at_once
def test_an_answer_and_a_cancel_at_once_end_canceled(partner: Client) -> None:
    """S66, T10: whoever is first; and nothing goes on after it."""
    for _ in range(ROUNDS):
        task = asking_task(partner)
        params = {"id": task["id"]}

        def cancel_it(params: dict[str, Any] = params) -> str:
            state: str = result_of(partner, "CancelTask", params)["status"]["state"]
            return state

        told = together([calling(partner, make_answer(task)), cancel_it])

        assert told[0] in {task["id"], "TASK_NOT_WAITING", "TASK_TERMINAL"}
        assert told[1] == "TASK_STATE_CANCELED"
        was_answered = told[0] == task["id"]
        assert len(messages_of(partner, task)) == 2 + was_answered
        assert events_of(task, EventKind.ANSWER) == was_answered
        run = AgentRun.objects.get(task=task["id"])
        assert (run.state, run.pending) == (RunState.CANCELED, None)
    assert_counters_are_right()


@at_once
def test_one_id_for_an_answer_and_new_tasks_is_used_once(partner: Client) -> None:
    """S47: whoever stores it first, while workers move the client's other tasks."""
    for _ in range(ROUNDS):
        task = asking_task(partner)
        others = [send(partner) for _ in range(2)]
        id_ = f"both-{task['id']}"
        new = {"messageId": id_, "role": "ROLE_USER", "parts": [{"text": "red"}]}

        told = together(
            [
                calling(partner, make_answer(task, messageId=id_)),
                calling(partner, new),
                *(partial(_claim_and_cancel, other) for other in others),
            ]
        )

        used = TaskMessage.objects.get(dedupe_key=id_)
        assert told == [str(used.task_id)] * 2 + ["done"] * 2
        for run_id in AgentRun.objects.filter(task__isnull=False).values_list(
            "pk", flat=True
        ):
            lifecycle.cancel(run_id)
    assert_counters_are_right()


def _claim_and_cancel(task: dict[str, Any]) -> str:
    lease = claim(task)
    assert lifecycle.cancel(lease.run_id)
    return "done"
