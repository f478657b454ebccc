from __future__ import annotations

import json
import logging
import uuid
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings

from a2a_protocol.cards import PROFILE_EXTENSION_URI
from a2a_protocol.errors import ErrorCode, ProtocolError
from a2a_server import conf
from a2a_server.models import (
    Client,
    Profile,
    Task,
    TaskEvent,
    TaskMessage,
    TaskState,
    WaitingSlot,
)
from a2a_server.models.task import ACTIVE_STATES
from a2a_server.operations.calls import CallFacts, Reply, Wait
from a2a_server.operations.table import OPERATIONS
from agent_runs import clock, handlers, lifecycle
from agent_runs.contents import DataPart, Result, TextPart, load_input, text_output
from agent_runs.models import AgentRun, RunState, WorkerHeartbeat
from tests import factories
from tests.a2a_server import toolbox
from tests.a2a_server.calling import (
    AnsweringHandler,
    assert_invalid,
    claim,
    complete,
    make_call,
    make_message,
    make_params,
    make_task,
    perform,
    read_task,
    refusal_of,
    result_of,
    send,
)

if TYPE_CHECKING:
    from pytest_django import DjangoAssertNumQueries, DjangoCaptureOnCommitCallbacks
    from pytest_django.fixtures import Settings

SETTLED = [state for state in TaskState if state not in ACTIVE_STATES]

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("worker")]


def short(value: object) -> str:
    return ascii(value)[:60]


def assert_nothing_stored() -> None:
    for model in (Task, TaskMessage, TaskEvent, AgentRun, WaitingSlot):
        assert not model.objects.exists(), model


def wait_for(client: Client, params: dict[str, Any]) -> Wait:
    outcome = perform(client, "SendMessage", params)
    assert isinstance(outcome, Wait)
    return outcome


def finish(wait: Wait, *, is_last: bool = False) -> Any:
    reply = wait.finish(is_last=is_last)
    return json.loads(reply.result_json) if reply else None


# --- Accepting ------------------------------------------------------------------------


def test_stores_task_run_message_and_first_event(
    partner: Client, profile: Profile
) -> None:
    """S43, S50, S60."""
    task = send(partner, "Hello.", messageId="m-1")

    stored = Task.objects.select_related("run").get()
    assert (str(stored.pk), stored.context_id) == (task["id"], task["contextId"])
    assert (stored.client, stored.profile) == (partner, profile)
    assert (stored.state, stored.run.state) == (TaskState.SUBMITTED, RunState.QUEUED)
    assert stored.run.owner == partner.technical_user
    assert stored.run.handler == profile.handler
    assert load_input(stored.run.request).message_id == "m-1"
    assert TaskMessage.objects.get().dedupe_key == "m-1"
    event = TaskEvent.objects.get()
    assert (event.sequence, stored.events_written) == (1, 1)
    assert json.loads(event.payload) == {"task": task}


def test_answers_with_the_submitted_task(partner: Client) -> None:
    """S44, S61: returnImmediately gives the task as it was stored."""
    task = send(partner, "Hello.", messageId="m-1", metadata={"a": 1})

    assert task == {
        "id": task["id"],
        "contextId": task["contextId"],
        "status": {
            "state": "TASK_STATE_SUBMITTED",
            "timestamp": task["status"]["timestamp"],
        },
        "history": [
            {
                "messageId": "m-1",
                "contextId": task["contextId"],
                "taskId": task["id"],
                "role": "ROLE_USER",
                "parts": [{"text": "Hello."}],
                "metadata": {"a": 1},
            }
        ],
    }
    assert read_task(partner, task["id"]) == task


def test_a_new_message_takes_few_queries(
    partner: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """S43: 12 statements, and a savepoint around the last 8 of them in this test.

    Repeat, skill, time, worker; then lock, message, count, run and its event, task and
    its event, counter.
    A configuration adds its groups, a quota a lock and a count.
    """
    send(partner)

    with django_assert_num_queries(12 + 2):
        send(partner)


def test_the_run_gets_what_client_and_profile_have(db: None) -> None:
    """S50: owner, workspace, configuration, tools and answer level are snapshots."""
    provider = factories.make_provider(answer_level="redacted")
    configuration = factories.make_configuration(provider=provider)
    profile = factories.make_profile(
        configuration=configuration, tools=["reader", "nobodys"], may_write=True
    )
    workspace = factories.make_workspace()
    client = factories.make_client(profiles=[profile], workspace=workspace)

    with toolbox.registered(toolbox.reader()):
        send(client)

    run = AgentRun.objects.get()
    assert run.owner == client.technical_user
    assert (run.workspace, run.configuration) == (workspace, configuration)
    assert (run.tools, run.answer_level) == (["reader"], "redacted")


def test_the_input_holds_what_was_asked(partner: Client, profile: Profile) -> None:
    """S42: parts with their media types, metadata and wished output modes."""
    message = make_message(
        parts=[{"text": "hi"}, {"data": {"a": None}}, {"data": None}],
        referenceTaskIds=["not-checked"],
    )
    params = make_params(
        message,
        metadata={"x": 1, PROFILE_EXTENSION_URI: "silent"},
        configuration={"acceptedOutputModes": ["image/png"]},
    )

    result_of(partner, "SendMessage", params)

    run_input = load_input(AgentRun.objects.get().request)
    assert run_input.parts == (
        TextPart(text="hi"),
        DataPart(data={"a": None}),
        DataPart(data=None),
    )
    assert run_input.skill == "silent"
    assert run_input.metadata == {"x": 1, PROFILE_EXTENSION_URI: "silent"}
    assert run_input.accepted_output_modes == ("image/png",)


def test_says_what_the_log_line_should_hold(partner: Client) -> None:
    """S91."""
    call = make_call(partner, "SendMessage", make_params())

    OPERATIONS["SendMessage"](call)

    assert call.facts.skill_id == "silent"
    assert call.facts.task_id == str(Task.objects.get().pk)


@pytest.mark.parametrize("method", ["GetTask", "CancelTask", "SendMessage"])
def test_a_peers_own_text_is_not_for_the_log(partner: Client, method: str) -> None:
    """S91: only the id of a task that is the client's."""
    params: dict[str, Any] = {"id": "secret"}
    if method == "SendMessage":
        params = make_params(make_message(taskId="secret"))
    call = make_call(partner, method, params)

    with pytest.raises(ProtocolError):
        OPERATIONS[method](call)

    assert call.facts == CallFacts()


@pytest.mark.parametrize(
    "members",
    [
        {"futureField": {"a": 1}},  # B021
        {"contextId": None, "taskId": None, "metadata": None, "extensions": None},
        {"contextId": "", "taskId": ""},  # B029: no ids
        {"role": 1},  # B025
        {"messageId": "\N{GRINNING FACE}" * 255},  # B024
        {"parts": [{"text": "x", "mediaType": "Text/Plain; charset=utf-8"}]},  # B019
        {"parts": [{"text": " "}, {"data": 0}]},  # not only blank text
    ],
    ids=short,
)
def test_takes_a_message_in_any_valid_spelling(
    partner: Client, members: dict[str, Any]
) -> None:
    """S13, S42."""
    send(partner, **members)

    assert Task.objects.count() == 1


# --- Parameters -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"messageId": None}, "message.messageId"),
        ({"messageId": ""}, "message.messageId"),
        ({"messageId": "  "}, "message.messageId"),
        ({"messageId": "m" * 256}, "message.messageId"),
        ({"role": None}, "message.role"),
        ({"role": "user"}, "message.role"),
        ({"role": "ROLE_UNSPECIFIED"}, "message.role"),
        ({"role": "ROLE_AGENT"}, "message.role"),  # B025
        ({"parts": None}, "message.parts"),
        ({"parts": []}, "message.parts"),
        ({"parts": [{"text": "x"}] * 17}, "message.parts"),
        ({"parts": [{"text": ""}, {"text": " \n"}]}, "message.parts"),
        ({"parts": [{"text": "a", "data": 1}]}, "message.parts[0]"),  # B026
        ({"parts": [{}]}, "message.parts[0]"),
        ({"parts": [{"text": 5}]}, "message.parts[0].text"),
        ({"parts": [{"raw": "@@@@"}]}, "message.parts[0].raw"),  # B028
        ({"taskId": "  "}, "message.taskId"),
        ({"contextId": "c" * 129}, "message.contextId"),
        ({"contextId": "a\nb"}, "message.contextId"),
        ({"contextId": "a\u200bb"}, "message.contextId"),
    ],
    ids=short,
)
def test_refuses_a_message_that_is_not_one(
    partner: Client, members: dict[str, Any], field: str
) -> None:
    """S42, S49, B023: the field is named and nothing is stored."""
    params = make_params(make_message(**members))

    assert_invalid(refusal_of(partner, "SendMessage", params), field)
    assert_nothing_stored()


@pytest.mark.parametrize(
    "params", [{}, {"message": None}, {"message": "hi"}], ids=short
)
def test_refuses_params_without_a_message(
    partner: Client, params: dict[str, Any]
) -> None:
    """B023."""
    assert_invalid(refusal_of(partner, "SendMessage", params), "message")


@pytest.mark.parametrize(
    "part",
    [
        {"raw": "AAAA", "mediaType": "application/x-msdownload"},
        {"raw": "", "mediaType": "text/plain"},
        {"url": "https://files.example/x", "mediaType": "text/plain"},
        {"text": "<p>", "mediaType": "text/html"},
        {"data": {}, "mediaType": "text/plain"},
        {"data": {}, "mediaType": "application/xml"},
    ],
    ids=short,
)
def test_refuses_content_that_the_skill_does_not_take(
    partner: Client, part: dict[str, Any]
) -> None:
    """S42, B019: before any row exists."""
    params = make_params(make_message(parts=[{"text": "x"}, part]))

    error = refusal_of(partner, "SendMessage", params)

    assert error.code is ErrorCode.CONTENT_TYPE_NOT_SUPPORTED
    assert error.metadata["field"] == "message.parts[1]"
    assert_nothing_stored()


def test_refuses_an_inline_push_config_before_all_else(db: None) -> None:
    """S39, B074: even for a client that may call nothing."""
    client = factories.make_client()
    config = {"taskPushNotificationConfig": {"url": "https://hook.example/"}}

    error = refusal_of(
        client, "SendMessage", make_params(make_message(""), configuration=config)
    )

    assert error.code is ErrorCode.PUSH_NOTIFICATION_NOT_SUPPORTED
    assert_nothing_stored()


@pytest.mark.parametrize("context_id", ["  ", "c", "c" * 128, "Größe 7", "a b"])
def test_keeps_a_clients_own_context(partner: Client, context_id: str) -> None:
    """S49."""
    assert send(partner, contextId=context_id)["contextId"] == context_id


@pytest.mark.parametrize("context_id", [None, ""])
def test_makes_a_context_where_there_is_none(
    partner: Client, context_id: str | None
) -> None:
    """S49."""
    made = {send(partner, contextId=context_id)["contextId"] for _ in range(2)}

    assert len(made) == 2
    assert all(uuid.UUID(text) for text in made)


# --- Order and limits -----------------------------------------------------------------


def test_without_a_worker_nothing_is_stored(partner: Client) -> None:
    """S40, W2."""
    long_ago = clock.database_now() - timedelta(seconds=121)
    WorkerHeartbeat.objects.update(last_seen_at=long_ago)

    error = refusal_of(partner, "SendMessage", make_params(immediate=False))

    assert (error.reason, error.http_status) == ("WORKER_UNAVAILABLE", 503)
    assert error.retry_after == 30
    assert_nothing_stored()


def test_the_first_refusal_answers(partner: Client, profile: Profile) -> None:
    """S39: each cure uncovers the next refusal in the order."""
    Client.objects.filter(pk=partner.pk).update(task_limit=1)
    make_task(client=partner, profile=profile)
    WorkerHeartbeat.objects.all().delete()
    partner.grants.all().delete()
    message = make_message(parts=[{"raw": "AAAA"}], taskId=str(uuid.uuid4()))
    reasons = []

    def note() -> None:
        error = refusal_of(partner, "SendMessage", make_params(message))
        reasons.append(error.reason or error.code.name)

    note()
    del message["taskId"]
    note()
    partner.grants.create(profile=profile)
    note()
    message["parts"] = [{"text": "x"}]
    note()
    factories.make_worker()
    note()

    assert reasons == [
        "TASK_NOT_FOUND",
        "PROFILE_UNAVAILABLE",
        "CONTENT_TYPE_NOT_SUPPORTED",
        "WORKER_UNAVAILABLE",
        "CLIENT_TASK_LIMIT_REACHED",
    ]
    assert Task.objects.count() == 1
    assert not TaskMessage.objects.exists()


@pytest.mark.parametrize("state", [TaskState.SUBMITTED, TaskState.WORKING])
def test_a_client_at_its_limit_gets_no_more(
    partner: Client, profile: Profile, state: TaskState
) -> None:
    """S48, S46: the slot that was taken is given back."""
    Client.objects.filter(pk=partner.pk).update(task_limit=2)
    for _ in range(2):
        make_task(state, client=partner, profile=profile)

    error = refusal_of(partner, "SendMessage", make_params(immediate=False))

    assert error.reason == "CLIENT_TASK_LIMIT_REACHED"
    assert (error.http_status, error.retry_after) == (429, 5)
    assert not WaitingSlot.objects.exists()
    assert Task.objects.count() == 2


@pytest.mark.parametrize("state", SETTLED)
def test_other_states_do_not_count(
    partner: Client, profile: Profile, state: TaskState
) -> None:
    """S48."""
    Client.objects.filter(pk=partner.pk).update(task_limit=1)
    task = make_task(client=partner, profile=profile)
    Task.objects.filter(pk=task.pk).update(state=state)

    send(partner)


def test_a_skill_at_its_quota_gets_no_more_from_anybody(
    partner: Client, rival: Client, profile: Profile
) -> None:
    """S48."""
    Profile.objects.filter(pk=profile.pk).update(active_task_quota=1)
    send(rival)

    error = refusal_of(partner, "SendMessage", make_params())

    assert (error.reason, error.http_status) == ("PROFILE_QUOTA_REACHED", 429)
    assert Task.objects.count() == 1


def test_the_nudge_leaves_after_the_commit(
    partner: Client,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    """S43, B134."""
    with django_capture_on_commit_callbacks() as callbacks:
        send(partner)

    assert len(callbacks) == 1


# --- Repeats --------------------------------------------------------------------------


def test_a_repeat_is_answered_with_its_task_as_it_is_now(partner: Client) -> None:
    """S47."""
    task = send(partner, messageId="m-1")
    complete(claim(task), result=Result(outputs=(text_output("out"),)))

    again = send(partner, messageId="m-1")

    assert again == read_task(partner, task["id"])
    assert again["status"]["state"] == "TASK_STATE_COMPLETED"
    assert AgentRun.objects.count() == TaskMessage.objects.count() == 1


def test_a_repeat_is_refused_for_nothing_that_came_since(
    partner: Client, profile: Profile
) -> None:
    """S47: looked up before skill, media types, worker and limits."""
    task = send(partner, messageId="m-1")
    Client.objects.filter(pk=partner.pk).update(task_limit=1)
    Profile.objects.filter(pk=profile.pk).update(is_public=False)
    partner.grants.all().delete()
    WorkerHeartbeat.objects.all().delete()

    message = make_message(messageId="m-1", parts=[{"raw": "AAAA"}])

    again = result_of(partner, "SendMessage", make_params(message))
    assert again["task"]["id"] == task["id"]


def test_a_repeat_waits_as_the_first_would(partner: Client, settings: Settings) -> None:
    """S47, S46: with a slot of its own, unless the task has settled."""
    settings.A2A_REDIS_URL = ""
    task = send(partner, messageId="m-1")
    params = make_params(make_message(messageId="m-1"), immediate=False)

    wait = wait_for(partner, params)

    assert str(wait.task_id) == task["id"]
    assert wait.slot
    assert WaitingSlot.objects.count() == 1
    complete(claim(task))
    outcome = perform(partner, "SendMessage", params)
    assert isinstance(outcome, Reply)
    assert WaitingSlot.objects.count() == 1


def test_a_repeat_may_be_refused_for_a_slot(
    partner: Client, settings: Settings
) -> None:
    """S47."""
    settings.A2A_SERVER_MAX_WAITING_REQUESTS = 1
    first = wait_for(partner, make_params(make_message(messageId="a"), immediate=False))

    params = make_params(make_message(messageId="a"), immediate=False)
    error = refusal_of(partner, "SendMessage", params)

    assert error.reason == "WAITING_CAPACITY_EXHAUSTED"
    assert first.slot


def test_other_content_is_logged_without_it(
    partner: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """S47."""
    task = send(partner, "first secret", messageId="m-1")

    with caplog.at_level(logging.INFO):
        same = send(partner, "first secret", messageId="m-1")
        assert not caplog.records
        again = send(partner, "second secret", messageId="m-1")

    assert task["id"] == same["id"] == again["id"]
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "secret" not in str(vars(record))
    assert vars(record)["task"] == task["id"]


def test_the_same_id_of_another_client_is_another_message(
    partner: Client, rival: Client
) -> None:
    """S47."""
    assert send(partner, messageId="m")["id"] != send(rival, messageId="m")["id"]


def test_the_scope_of_an_id_ends_with_its_task(partner: Client) -> None:
    """S47."""
    first = send(partner, messageId="m")
    AgentRun.objects.all().delete()

    assert send(partner, messageId="m")["id"] != first["id"]


def test_ids_may_repeat_where_deduplication_is_off(
    partner: Client, settings: Settings
) -> None:
    """S47."""
    settings.A2A_SERVER_DEDUPLICATE_MESSAGES = False

    assert send(partner, messageId="m")["id"] != send(partner, messageId="m")["id"]


def test_a_refused_message_leaves_its_id_free(partner: Client) -> None:
    """S39."""
    Client.objects.filter(pk=partner.pk).update(task_limit=1)
    first = send(partner)
    error = refusal_of(partner, "SendMessage", make_params(make_message(messageId="m")))
    assert error.reason == "CLIENT_TASK_LIMIT_REACHED"
    result_of(partner, "CancelTask", {"id": first["id"]})

    assert send(partner, messageId="m")["id"] != first["id"]


# --- Waiting --------------------------------------------------------------------------


def test_waits_until_the_task_has_settled(partner: Client, settings: Settings) -> None:
    """S44: SUBMITTED and WORKING are waited through."""
    settings.A2A_REDIS_URL = ""
    wait = wait_for(partner, make_params(immediate=False))
    assert wait.seconds == conf.blocking_wait().total_seconds() == 20
    assert wait.slot
    assert WaitingSlot.objects.get().pk == wait.slot.id
    assert finish(wait) is None

    lease = claim({"id": wait.task_id})
    assert finish(wait) is None

    complete(lease, result=Result(outputs=(text_output("out"),)))
    assert finish(wait) == {"task": read_task(partner, wait.task_id)}


@pytest.mark.parametrize("state", SETTLED)
def test_every_other_state_ends_the_wait(partner: Client, state: TaskState) -> None:
    """S44, B042."""
    wait = wait_for(partner, make_params(immediate=False))
    Task.objects.filter(pk=wait.task_id).update(state=state)

    assert finish(wait)["task"]["id"] == str(wait.task_id)


@pytest.mark.parametrize(
    "configuration",
    [None, {}, {"returnImmediately": False}, {"returnImmediately": None}],
    ids=short,
)
def test_waits_unless_it_is_asked_not_to(
    partner: Client, configuration: dict[str, Any] | None
) -> None:
    """S44: the proto's default, where the prose returns at once."""
    params = {"message": make_message(), "configuration": configuration}

    assert wait_for(partner, params)


def test_a_wait_reads_with_one_query(
    partner: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """S44."""
    wait = wait_for(partner, make_params(immediate=False))

    with django_assert_num_queries(1):
        wait.finish(is_last=False)


def test_the_deadline_gives_the_id_and_the_task_goes_on(partner: Client) -> None:
    """S45."""
    wait = wait_for(partner, make_params(immediate=False))

    with pytest.raises(ProtocolError) as caught:
        wait.finish(is_last=True)

    error = caught.value
    assert (error.reason, error.http_status) == ("BLOCKING_DEADLINE_EXCEEDED", 504)
    assert error.metadata == {"taskId": str(wait.task_id)}
    state = read_task(partner, wait.task_id)["status"]["state"]
    assert state == "TASK_STATE_SUBMITTED"


def test_a_task_that_settled_at_the_deadline_is_answered(partner: Client) -> None:
    """S45."""
    wait = wait_for(partner, make_params(immediate=False))
    complete(claim({"id": wait.task_id}))

    assert finish(wait, is_last=True)["task"]["status"]["state"] == (
        "TASK_STATE_COMPLETED"
    )


def test_history_length_holds_for_the_answer(partner: Client) -> None:
    """S63, B044."""
    configuration = {"historyLength": 0}
    params = make_params(configuration=configuration)
    assert "history" not in result_of(partner, "SendMessage", params)["task"]

    wait = wait_for(partner, make_params(immediate=False, configuration=configuration))
    complete(claim({"id": wait.task_id}))

    assert "history" not in finish(wait)["task"]
    assert len(read_task(partner, wait.task_id)["history"]) == 1


def test_no_free_slot_stores_nothing(partner: Client, settings: Settings) -> None:
    """S46: returnImmediately needs none."""
    settings.A2A_SERVER_MAX_WAITING_REQUESTS = 1
    wait_for(partner, make_params(immediate=False))

    error = refusal_of(partner, "SendMessage", make_params(immediate=False))

    assert (error.reason, error.http_status) == ("WAITING_CAPACITY_EXHAUSTED", 503)
    assert error.retry_after == 5
    assert Task.objects.count() == TaskMessage.objects.count() == 1
    send(partner)


# --- Plain messages -------------------------------------------------------------------


@pytest.fixture
def answering(partner: Client, profile: Profile) -> Client:
    """The partner, whose skill answers with a plain message."""
    handlers.register(AnsweringHandler())
    Profile.objects.filter(pk=profile.pk).update(handler=AnsweringHandler.name)
    return partner


def test_a_plain_answer_is_the_message_itself(answering: Client) -> None:
    """S62: the task exists beside it and carries it as its status message."""
    wait = wait_for(answering, make_params(immediate=False))
    complete(claim({"id": wait.task_id}), result=Result(message=(TextPart(text="A."),)))

    answer = finish(wait)

    task = read_task(answering, wait.task_id)
    assert answer == {"message": task["status"]["message"]}
    assert answer["message"]["role"] == "ROLE_AGENT"
    assert answer["message"]["taskId"] == str(wait.task_id)
    assert answer["message"]["contextId"] == task["contextId"]
    assert answer["message"]["parts"] == [{"text": "A."}]


def test_return_immediately_gives_the_task_even_then(answering: Client) -> None:
    """S62."""
    task = send(answering, messageId="m")
    complete(claim(task), result=Result(message=(TextPart(text="A."),)))

    assert send(answering, messageId="m")["id"] == task["id"]


def test_every_other_end_gives_the_task(answering: Client) -> None:
    """S62."""
    wait = wait_for(answering, make_params(immediate=False))
    lifecycle.cancel(Task.objects.get(pk=wait.task_id).run_id)

    assert finish(wait)["task"]["status"]["state"] == "TASK_STATE_CANCELED"


# --- A task is named ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (TaskState.SUBMITTED, "TASK_NOT_WAITING"),
        (TaskState.WORKING, "TASK_NOT_WAITING"),
        (TaskState.COMPLETED, "TASK_TERMINAL"),
        (TaskState.FAILED, "TASK_TERMINAL"),
        (TaskState.CANCELED, "TASK_TERMINAL"),
        (TaskState.REJECTED, "TASK_TERMINAL"),
    ],
)
def test_a_task_that_does_not_wait_takes_no_message(
    partner: Client, profile: Profile, state: TaskState, reason: str
) -> None:
    """S70, B036, B038: and does not change."""
    task = make_task(state, client=partner, profile=profile)
    before = read_task(partner, task.pk)

    error = refusal_of(
        partner, "SendMessage", make_params(make_message(taskId=str(task.pk)))
    )

    assert (error.code, error.reason) == (ErrorCode.UNSUPPORTED_OPERATION, reason)
    assert read_task(partner, task.pk) == before
    assert not TaskMessage.objects.exists()


def test_a_task_keeps_its_context_and_skill(partner: Client, profile: Profile) -> None:
    """S70, B034."""
    task = make_task(client=partner, profile=profile, context_id="c")
    task_id = str(task.pk)

    other_context = make_params(make_message(taskId=task_id, contextId="d"))
    other_skill = make_params(
        make_message(taskId=task_id), metadata={PROFILE_EXTENSION_URI: "other"}
    )
    same = make_params(
        make_message(taskId=task_id, contextId="c"),
        metadata={PROFILE_EXTENSION_URI: "silent"},
    )

    error = refusal_of(partner, "SendMessage", other_context)
    assert_invalid(error, "message.contextId")
    assert refusal_of(partner, "SendMessage", other_skill).code == -32602
    assert refusal_of(partner, "SendMessage", same).reason == "TASK_NOT_WAITING"


def test_settings_of_this_file_are_the_products(db: None) -> None:
    """S44, S47: the defaults to ship."""
    assert settings.A2A_SERVER_BLOCKING_WAIT_SECONDS == 20
    assert settings.A2A_SERVER_MAX_WAITING_REQUESTS == 200
    assert settings.A2A_SERVER_DEDUPLICATE_MESSAGES is True
