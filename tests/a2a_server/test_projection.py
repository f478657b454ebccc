from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from a2a_protocol import types
from a2a_protocol.cards import PROFILE_EXTENSION_URI
from a2a_protocol.json_text import load_json
from a2a_protocol.proto_json import read
from a2a_server import projection
from a2a_server.documents import FAILURE_SENTENCES
from a2a_server.models import Client, Profile, Task, TaskCounter, TaskEvent, TaskState
from agent_runs import clock, handlers, lifecycle
from agent_runs.contents import (
    DataPart,
    FilePart,
    Output,
    Result,
    TextPart,
    text_output,
)
from agent_runs.events import NewEvent
from agent_runs.models import AgentRun, EndReason, RunState
from agent_runs.models.run import EventKind
from agent_runs.questions import Field, Question, ValueType
from agent_runs.retention import Purge, purge
from agent_runs.signals import RunChange
from agent_runs.waiting import open_question
from tests import factories
from tests.a2a_server.calling import (
    AnsweringHandler,
    ask,
    claim,
    complete,
    read_task,
    refusal_of,
    result_of,
    send,
)

if TYPE_CHECKING:
    from pytest_django import DjangoAssertNumQueries, DjangoCaptureOnCommitCallbacks

    from agent_runs.lifecycle import Lease

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("worker")]

RETRY = NewEvent(kind=EventKind.RETRY)


def events_of(task: dict[str, Any]) -> list[dict[str, Any]]:
    """The task's events, each of which reads as a StreamResponse."""
    rows = TaskEvent.objects.filter(task_id=task["id"]).order_by("sequence")
    payloads = [row.payload for row in rows]
    for payload in payloads:
        read(types.StreamResponse, load_json(payload.encode()))
    stored = Task.objects.get(pk=task["id"])
    assert [row.sequence for row in rows] == list(range(1, stored.events_written + 1))
    return [json.loads(payload) for payload in payloads]


def counts() -> dict[str, int]:
    rows = TaskCounter.objects.filter(count__gt=0)
    return dict(rows.values_list("state", "count"))


def state_of(client: Client, task: dict[str, Any]) -> str:
    state: str = read_task(client, task["id"])["status"]["state"]
    return state.removeprefix("TASK_STATE_")


def requeue(lease: Lease) -> None:
    now = clock.database_now()
    assert lifecycle.requeue(lease, delay=timedelta(), now=now, event=RETRY)


def test_every_run_state_has_its_task_state() -> None:
    """S60: and AUTH_REQUIRED and SUBMITTED are in none."""
    assert set(projection.TASK_STATES) == set(RunState)
    assert set(projection.TASK_STATES.values()) == set(TaskState) - {
        TaskState.SUBMITTED,
        TaskState.AUTH_REQUIRED,
    }


def test_a_claimed_run_makes_its_task_work(partner: Client) -> None:
    """S60, S61, S65."""
    task = send(partner)
    assert counts() == {"submitted": 1}

    claim(task)

    working = read_task(partner, task["id"])
    assert working["status"]["state"] == "TASK_STATE_WORKING"
    assert working["status"]["timestamp"] >= task["status"]["timestamp"]
    assert working["history"] == task["history"]
    assert counts() == {"working": 1}
    assert events_of(task) == [
        {"task": task},
        {
            "statusUpdate": {
                "taskId": task["id"],
                "contextId": task["contextId"],
                "status": working["status"],
            }
        },
    ]


def test_what_happens_inside_working_moves_nothing(partner: Client) -> None:
    """S60, S61: SUBMITTED never returns, the time stands still, no event is written."""
    task = send(partner)
    lease = claim(task)
    before = read_task(partner, task["id"])

    requeue(lease)
    assert read_task(partner, task["id"]) == before
    lease = claim(task)
    lifecycle.suspend(
        lease,
        RunState.WAITING_FOR_APPROVAL,
        waiting=factories.make_approval(),
        now=clock.database_now(),
    )

    assert AgentRun.objects.get().state == RunState.WAITING_FOR_APPROVAL
    assert read_task(partner, task["id"]) == before
    assert len(events_of(task)) == 2


def test_waiting_for_input_shows_and_ends(partner: Client) -> None:
    """S60."""
    task = send(partner)
    asked = ask(task)
    assert state_of(partner, task) == "INPUT_REQUIRED"
    assert counts() == {"input_required": 1}

    lifecycle.resume(
        Task.objects.get().run_id,
        RunState.WAITING_FOR_INPUT,
        waiting_id=asked.id,
        pending="{}",
        now=clock.database_now(),
    )

    assert state_of(partner, task) == "WORKING"
    assert counts() == {"working": 1}


def test_a_question_is_told_to_people_and_to_programs(partner: Client) -> None:
    """S60, T7: and is the last message of the history (S63)."""
    task = send(partner)

    asked = ask(task)

    waiting = read_task(partner, task["id"])
    message = waiting["status"]["message"]
    assert message == {
        "messageId": message["messageId"],
        "contextId": task["contextId"],
        "taskId": task["id"],
        "role": "ROLE_AGENT",
        "parts": [{"text": "Which colour?\nOne of: «red», «blue»."}],
        "metadata": {
            PROFILE_EXTENSION_URI: {
                "questionId": asked.id,
                "question": "Which colour?",
                "answer": {"type": "string", "enum": ["red", "blue"]},
            }
        },
        "extensions": [PROFILE_EXTENSION_URI],
    }
    assert waiting["history"] == [*task["history"], message]
    last = events_of(task)[-1]
    assert last["statusUpdate"]["status"] == waiting["status"]


def test_a_question_of_several_values_shows_their_schema(partner: Client) -> None:
    """S60, T7."""
    task = send(partner)
    fields = (
        Field(name="size", type=ValueType.INTEGER, label="Size"),
        Field(name="gift", type=ValueType.BOOLEAN, is_required=False),
    )
    question = Question(text="How?", fields=fields)

    ask(task, open_question(question, key="k", asked_by=["k"]))

    message = read_task(partner, task["id"])["status"]["message"]
    assert message["metadata"][PROFILE_EXTENSION_URI]["answer"] == {
        "type": "object",
        "properties": {
            "size": {"type": "integer", "title": "Size"},
            "gift": {"type": "boolean"},
        },
        "required": ["size"],
        "additionalProperties": False,
    }
    assert "«gift» (may be left out): Yes or no." in message["parts"][0]["text"]


def test_a_question_costs_no_query_more(
    partner: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """S60, S63: its history is read with the task."""
    task = send(partner)
    claim(task)
    change = RunChange(
        run_id=Task.objects.get().run_id,
        previous=RunState.RUNNING,
        state=RunState.WAITING_FOR_INPUT,
        at=clock.database_now(),
        waiting=factories.make_question(),
    )

    with django_assert_num_queries(5):
        projection.project(change=change)


def test_each_output_is_an_artifact(partner: Client) -> None:
    """S62: and an event before the one that ends the task."""
    task = send(partner)
    outputs = (
        text_output("one", name="First"),
        Output(parts=(DataPart(data=[1]), TextPart(text="two"))),
        Output(parts=(FilePart(raw=b"x", media_type="a/b", filename="f"),)),
    )

    complete(claim(task), result=Result(outputs=outputs))

    done = read_task(partner, task["id"])
    assert done["status"]["state"] == "TASK_STATE_COMPLETED"
    assert "message" not in done["status"]
    assert done["artifacts"] == [
        {"artifactId": "artifact-1", "name": "First", "parts": [{"text": "one"}]},
        {"artifactId": "artifact-2", "parts": [{"data": [1]}, {"text": "two"}]},
        {
            "artifactId": "artifact-3",
            "parts": [{"raw": "eA==", "filename": "f", "mediaType": "a/b"}],
        },
    ]
    *_, one, two, three, end = events_of(task)
    shown = [event["artifactUpdate"]["artifact"] for event in (one, two, three)]
    assert shown == done["artifacts"]
    assert end["statusUpdate"]["status"] == done["status"]
    assert counts() == {"completed": 1}


def test_a_note_is_the_status_message(partner: Client) -> None:
    """S62: and no part of the history (S63)."""
    task = send(partner)

    complete(claim(task), result=Result(outputs=(text_output("x"),), note="Cut."))

    done = read_task(partner, task["id"])
    message = done["status"]["message"]
    assert message["parts"] == [{"text": "Cut."}]
    assert (message["role"], message["taskId"]) == ("ROLE_AGENT", task["id"])
    assert message["contextId"] == task["contextId"]
    assert done["history"] == task["history"]


def test_only_a_declared_message_is_the_reply(
    partner: Client, profile: Profile
) -> None:
    """S62."""
    result = Result(message=(TextPart(text="A."),))
    undeclared = send(partner)
    complete(claim(undeclared), result=result)
    handlers.register(AnsweringHandler())
    Profile.objects.filter(pk=profile.pk).update(handler=AnsweringHandler.name)
    declared = send(partner)
    complete(claim(declared), result=result)

    for task in (undeclared, declared):
        status = read_task(partner, task["id"])["status"]
        assert status["message"]["parts"] == [{"text": "A."}]
    replies = dict(Task.objects.values_list("pk", "reply"))
    assert [reply is None for reply in replies.values()].count(True) == 1
    assert Task.objects.get(pk=undeclared["id"]).reply is None


@pytest.mark.parametrize("reason", list(FAILURE_SENTENCES))
def test_a_failure_says_one_fixed_sentence(partner: Client, reason: EndReason) -> None:
    """S60, B049, B095."""
    task = send(partner)
    lease = claim(task)

    lifecycle.fail(lease.run_id, reason, now=clock.database_now(), lease=lease)

    status = read_task(partner, task["id"])["status"]
    assert status["state"] == "TASK_STATE_FAILED"
    assert status["message"]["parts"] == [{"text": FAILURE_SENTENCES[reason]}]
    assert counts() == {"failed": 1}


def test_a_refused_input_says_the_handlers_reason(partner: Client) -> None:
    """S60."""
    task = send(partner)

    lifecycle.reject(claim(task), detail="Too short.\x00", now=clock.database_now())

    status = read_task(partner, task["id"])["status"]
    assert status["state"] == "TASK_STATE_REJECTED"
    assert status["message"]["parts"] == [{"text": "Too short.\ufffd"}]


def test_a_canceled_task_says_nothing(partner: Client) -> None:
    """S60."""
    task = send(partner)

    lifecycle.cancel(Task.objects.get().run_id)

    status = read_task(partner, task["id"])["status"]
    assert (status["state"], set(status)) == (
        "TASK_STATE_CANCELED",
        {"state", "timestamp"},
    )
    assert counts() == {"canceled": 1}


def test_time_never_goes_back(partner: Client) -> None:
    """S61, B047."""
    task = send(partner)
    earlier = clock.database_now() - timedelta(minutes=5)
    AgentRun.objects.update(due_at=earlier)
    run_id = Task.objects.get().run_id

    assert lifecycle.claim(run_id, owner="late", now=earlier)

    working = read_task(partner, task["id"])
    assert working["status"]["timestamp"] == task["status"]["timestamp"]


def test_an_ended_task_is_not_moved_again(partner: Client) -> None:
    """R3, B036: whatever its run does."""
    task = send(partner)
    lease = claim(task)
    Task.objects.update(state=TaskState.CANCELED)

    complete(lease)

    assert Task.objects.get().state == TaskState.CANCELED
    assert len(events_of(task)) == 2


def test_an_unknown_reason_still_ends_the_task(partner: Client) -> None:
    """S60."""
    task = send(partner)
    change = RunChange(
        run_id=Task.objects.get().run_id,
        previous=RunState.RUNNING,
        state=RunState.FAILED,
        at=clock.database_now(),
        end_reason="from_a_newer_release",
    )

    projection.project(change=change)

    assert state_of(partner, task) == "FAILED"


def test_a_run_without_a_task_is_left_alone(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    """O2: runs that were tried out have none."""
    run = factories.make_run()

    assert lifecycle.claim(run.pk, owner="x", now=clock.database_now())
    assert not TaskEvent.objects.exists()


def test_a_move_costs_few_queries(
    partner: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """S60: read, update, events, and a counter on each side."""
    send(partner)
    change = RunChange(
        run_id=Task.objects.get().run_id,
        previous=RunState.QUEUED,
        state=RunState.RUNNING,
        at=clock.database_now(),
    )

    with django_assert_num_queries(5):
        projection.project(change=change)
    with django_assert_num_queries(1):
        projection.project(change=change)


def test_tells_after_the_commit(
    partner: Client,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    """S44: nobody looks before there is something to see."""
    task = send(partner)
    lease = claim(task)

    with django_capture_on_commit_callbacks() as callbacks:
        complete(lease)

    assert len(callbacks) == 1


def test_a_purge_takes_everything_of_the_task(partner: Client) -> None:
    """R18, S64, S65: through the product's own purge."""
    gone, kept = send(partner), send(partner)
    complete(claim(gone))
    claim(kept)
    AgentRun.objects.filter(task=gone["id"]).update(
        ended_at=clock.database_now() - timedelta(days=31)
    )

    counted = purge(Purge(older_than=timedelta(days=30)))

    assert counted["runs"] == counted["tasks"] == counted["messages"] == 1
    assert counted["task events"] == 3
    assert counts() == {"working": 1}
    assert refusal_of(partner, "GetTask", {"id": gone["id"]}).code == -32001
    listed = result_of(partner, "ListTasks")
    assert [task["id"] for task in listed["tasks"]] == [kept["id"]]
    assert listed["totalSize"] == 1
