from __future__ import annotations

import uuid
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from a2a_protocol.errors import ErrorCode, error_object
from a2a_protocol.proto_json import format_timestamp
from a2a_server import pagination
from a2a_server.models import Client, Profile, Task, TaskEvent, TaskState
from agent_runs import clock, lifecycle
from agent_runs.contents import Result, text_output
from agent_runs.models import AgentRun
from tests import factories
from tests.a2a_server.calling import (
    assert_invalid,
    claim,
    complete,
    make_message,
    make_task,
    read_task,
    refusal_of,
    result_of,
    send,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_django import DjangoAssertNumQueries

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("worker")]


@pytest.fixture
def walk(partner: Client) -> Callable[..., list[str]]:
    """All task ids of a list, page by page."""

    def ids(**params: Any) -> list[str]:
        found: list[str] = []
        token = ""
        while True:
            page = result_of(partner, "ListTasks", {**params, "pageToken": token})
            found += [task["id"] for task in page["tasks"]]
            token = page["nextPageToken"]
            if not token:
                return found

    return ids


def make_tasks(client: Client, profile: Profile, count: int) -> list[Task]:
    """Tasks of one status time."""
    now = clock.database_now()
    return [make_task(client=client, profile=profile, now=now) for _ in range(count)]


# --- GetTask --------------------------------------------------------------------------


def test_reads_a_task_with_one_query(
    partner: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """S64: the query that reads also authorizes."""
    task = send(partner, "hello")

    with django_assert_num_queries(1):
        read = result_of(partner, "GetTask", {"id": task["id"]})

    assert read == task
    assert read["status"]["state"] == "TASK_STATE_SUBMITTED"
    assert read["history"][0]["parts"] == [{"text": "hello"}]


@pytest.mark.parametrize(
    ("length", "count"), [(None, 1), (0, None), (1, 1), (7, 1), ("1", 1), (1.0, 1)]
)
def test_history_length_counts_from_the_end(
    partner: Client, length: object, count: int | None
) -> None:
    """S63, S13."""
    task = send(partner)

    read = result_of(partner, "GetTask", {"id": task["id"], "historyLength": length})

    assert (len(read["history"]) if "history" in read else None) == count


@pytest.mark.parametrize("method", ["GetTask", "ListTasks", "SendMessage"])
def test_refuses_a_negative_history_length(partner: Client, method: str) -> None:
    """S63: the same in every operation."""
    params: dict[str, Any] = {"id": str(uuid.uuid4()), "historyLength": -1}
    field = "historyLength"
    if method == "SendMessage":
        params = {"message": make_message(), "configuration": {"historyLength": -1}}
        field = "configuration.historyLength"

    assert_invalid(refusal_of(partner, method, params), field)


@pytest.mark.parametrize("method", ["GetTask", "CancelTask"])
@pytest.mark.parametrize("blank", ["", "  ", None])
def test_a_blank_id_is_a_bad_parameter(
    partner: Client, method: str, blank: str | None
) -> None:
    """S64, B023."""
    assert_invalid(refusal_of(partner, method, {"id": blank}), "id")


@pytest.mark.parametrize("method", ["GetTask", "CancelTask", "SendMessage"])
def test_a_foreign_task_reads_as_one_that_never_was(
    partner: Client, rival: Client, method: str
) -> None:
    """S64, B033, B089: foreign, purged, unknown and impossible ids alike."""
    foreign = send(rival)["id"]
    purged = make_task(client=partner)
    AgentRun.objects.filter(pk=purged.run_id).delete()
    ids = [
        foreign,
        str(purged.pk),
        str(uuid.uuid4()),
        "msg-1",
        foreign.upper(),
        "x" * 999,
    ]
    ids += [f"{{{foreign}}}", foreign.replace("-", ""), "../../x", "\N{GRINNING FACE}"]

    bodies = []
    for task_id in ids:
        params: dict[str, Any] = {"id": task_id}
        if method == "SendMessage":
            params = {"message": make_message(taskId=task_id)}
        bodies.append(error_object(refusal_of(partner, method, params)))

    assert bodies[0]["code"] == -32001
    assert bodies[0]["data"][0]["metadata"] == {}
    assert all(body == bodies[0] for body in bodies)
    assert read_task(rival, foreign)["status"]["state"] == "TASK_STATE_SUBMITTED"


@pytest.mark.parametrize(
    "respell", [str.upper, "{{{}}}".format, "urn:uuid:{}".format, "{} ".format], ids=str
)
def test_an_id_has_one_spelling(partner: Client, respell: Callable[[str], str]) -> None:
    """S64, B024: as it was given out."""
    task_id = respell(send(partner)["id"])

    error = refusal_of(partner, "GetTask", {"id": task_id})

    assert error.code is ErrorCode.TASK_NOT_FOUND


def test_a_withdrawn_skill_does_not_hide_its_tasks(
    partner: Client, profile: Profile
) -> None:
    """S64."""
    task = send(partner)
    partner.grants.all().delete()
    Profile.objects.filter(pk=profile.pk).update(is_public=False)

    assert read_task(partner, task["id"]) == task
    assert result_of(partner, "ListTasks")["totalSize"] == 1


# --- ListTasks ------------------------------------------------------------------------


def test_an_empty_list_has_all_its_members(partner: Client, rival: Client) -> None:
    """S65, B079."""
    send(rival)

    listed = result_of(partner, "ListTasks")

    assert listed == {"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0}


@pytest.mark.parametrize(
    ("size", "used"), [(None, 50), (1, 1), (100, 100), ("50", 50), (7.0, 7)]
)
def test_page_size_is_what_is_used(partner: Client, size: object, used: int) -> None:
    """S65, B075."""
    assert result_of(partner, "ListTasks", {"pageSize": size})["pageSize"] == used


@pytest.mark.parametrize("size", [0, -1, 101, 100_000, 1.5, True, "x"])
def test_refuses_a_page_size_outside_its_range(partner: Client, size: object) -> None:
    """S65, B075."""
    error = refusal_of(partner, "ListTasks", {"pageSize": size})

    assert_invalid(error, "pageSize")


def test_a_list_that_fits_takes_two_queries(
    partner: Client, profile: Profile, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """S65: the page and the counters."""
    make_tasks(partner, profile, 3)

    with django_assert_num_queries(2):
        listed = result_of(partner, "ListTasks")

    assert (len(listed["tasks"]), listed["totalSize"]) == (3, 3)


def test_a_page_of_a_walk_takes_three_queries(
    partner: Client, profile: Profile, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """S65: a token is bound to the client's skills, which are one more question."""
    make_tasks(partner, profile, 3)
    token = result_of(partner, "ListTasks", {"pageSize": 1})["nextPageToken"]

    with django_assert_num_queries(3):
        page = result_of(partner, "ListTasks", {"pageSize": 1, "pageToken": token})

    assert (len(page["tasks"]), page["totalSize"]) == (1, 3)


def test_a_walk_meets_every_task_once(
    partner: Client, profile: Profile, walk: Callable[..., list[str]]
) -> None:
    """S65, B077: six tasks of one status time, page size 1."""
    tasks = make_tasks(partner, profile, 6)

    found = walk(pageSize=1)

    assert sorted(found) == sorted(str(task.pk) for task in tasks)
    assert found == sorted(found, reverse=True)


def test_a_page_of_large_tasks_ends_early(
    partner: Client, walk: Callable[..., list[str]]
) -> None:
    """S65: four answers of 25 MB on one page took 436 MB."""
    size = pagination.MAX_PAGE_BYTES // 3
    for _ in range(5):
        result = Result(outputs=(text_output("x" * size),))
        complete(claim(send(partner)), result=result)

    with_artifacts = result_of(partner, "ListTasks", {"includeArtifacts": True})
    without = result_of(partner, "ListTasks")

    assert len(with_artifacts["tasks"]) == 3
    assert with_artifacts["nextPageToken"]
    assert (len(without["tasks"]), without["nextPageToken"]) == (5, "")
    assert len(set(walk(includeArtifacts=True))) == 5


def test_a_page_holds_one_task_at_least(
    partner: Client, walk: Callable[..., list[str]]
) -> None:
    """S65: however large it is, the walk goes on behind it."""
    text = "x" * (pagination.MAX_PAGE_BYTES + 1)
    sent = [send(partner, text)["id"] for _ in range(2)]

    assert sorted(walk()) == sorted(sent)
    assert len(result_of(partner, "ListTasks")["tasks"]) == 1
    assert len(result_of(partner, "ListTasks", {"historyLength": 0})["tasks"]) == 2


def test_newest_status_comes_first(
    partner: Client, profile: Profile, walk: Callable[..., list[str]]
) -> None:
    """S65."""
    now = clock.database_now()
    ages = {
        str(
            make_task(
                client=partner, profile=profile, now=now - timedelta(milliseconds=age)
            ).pk
        ): age
        for age in (5, 1, 9, 0, 3)
    }

    assert [ages[task_id] for task_id in walk(pageSize=2)] == [0, 1, 3, 5, 9]


def test_a_task_that_moves_during_a_walk_is_first_in_the_next(
    partner: Client, profile: Profile, walk: Callable[..., list[str]]
) -> None:
    """S65, B077: the others appear once all the same, and the walk ends."""
    tasks = make_tasks(partner, profile, 4)
    ordered = sorted((str(task.pk) for task in tasks), reverse=True)
    first = result_of(partner, "ListTasks", {"pageSize": 1})

    moved = ordered[3]
    Task.objects.filter(pk=moved).update(
        status_at=clock.database_now() + timedelta(seconds=1)
    )

    rest, token = [], first["nextPageToken"]
    while token:
        page = result_of(partner, "ListTasks", {"pageSize": 1, "pageToken": token})
        rest += [task["id"] for task in page["tasks"]]
        token = page["nextPageToken"]
    assert rest == ordered[1:3]
    assert walk(pageSize=1)[0] == moved


def test_page_size_and_shape_may_change_from_page_to_page(
    partner: Client, profile: Profile
) -> None:
    """S65."""
    make_tasks(partner, profile, 5)
    token = result_of(partner, "ListTasks", {"pageSize": 1})["nextPageToken"]

    page = result_of(
        partner,
        "ListTasks",
        {
            "pageSize": 4,
            "pageToken": token,
            "historyLength": 1,
            "includeArtifacts": True,
        },
    )

    assert (len(page["tasks"]), page["nextPageToken"]) == (4, "")


@pytest.mark.parametrize(
    "change",
    [
        {"contextId": "c"},
        {"status": "TASK_STATE_SUBMITTED"},
        {"statusTimestampAfter": "2020-01-01T00:00:00Z"},
    ],
    ids=str,
)
def test_a_token_belongs_to_its_filters(
    partner: Client, profile: Profile, change: dict[str, str]
) -> None:
    """S65."""
    make_tasks(partner, profile, 2)
    plain = result_of(partner, "ListTasks", {"pageSize": 1})["nextPageToken"]
    filtered = result_of(partner, "ListTasks", {"pageSize": 1, **change})[
        "nextPageToken"
    ]

    for params in ({"pageToken": plain, **change}, {"pageToken": filtered}):
        assert_invalid(refusal_of(partner, "ListTasks", params), "pageToken")
    result_of(partner, "ListTasks", {"pageToken": filtered, **change})


def test_a_token_belongs_to_its_client_address_and_skills(
    partner: Client, rival: Client, profile: Profile
) -> None:
    """S65."""
    make_tasks(partner, profile, 2)
    params = {
        "pageToken": result_of(partner, "ListTasks", {"pageSize": 1})["nextPageToken"]
    }

    assert_invalid(refusal_of(rival, "ListTasks", params), "pageToken")
    elsewhere = refusal_of(partner, "ListTasks", params, base_url="https://b.example")
    assert_invalid(elsewhere, "pageToken")
    partner.grants.create(profile=factories.make_profile())
    assert_invalid(refusal_of(partner, "ListTasks", params), "pageToken")


@pytest.mark.parametrize("token", ["x", "a:b:c", " ", "x" * 5000, "é"])
def test_refuses_a_token_it_did_not_make(partner: Client, token: str) -> None:
    """S65."""
    assert_invalid(refusal_of(partner, "ListTasks", {"pageToken": token}), "pageToken")


def test_lists_by_context_state_and_time(partner: Client, profile: Profile) -> None:
    """S65: the total counts what matches, whichever way it is counted."""
    now = clock.database_now()
    for state, context, age in [
        (TaskState.SUBMITTED, "a", 0),
        (TaskState.WORKING, "a", 1),
        (TaskState.WORKING, "b", 2),
        (TaskState.COMPLETED, "b", 3),
    ]:
        make_task(
            state,
            client=partner,
            profile=profile,
            context_id=context,
            now=now - timedelta(seconds=age),
        )
    moment = format_timestamp(now - timedelta(seconds=2))

    for params, total in [
        ({}, 4),
        ({"status": "TASK_STATE_WORKING"}, 2),
        ({"status": 2}, 2),
        ({"status": 0}, 4),
        ({"status": "UNRECOGNIZED"}, 4),
        ({"contextId": "a"}, 2),
        ({"contextId": "unknown"}, 0),
        ({"contextId": ""}, 4),
        ({"contextId": "   "}, 0),
        ({"statusTimestampAfter": moment}, 3),  # at the moment itself counts
        ({"contextId": "b", "status": "TASK_STATE_COMPLETED"}, 1),
        ({"contextId": "a", "statusTimestampAfter": moment}, 2),
    ]:
        listed = result_of(partner, "ListTasks", params)
        assert (len(listed["tasks"]), listed["totalSize"]) == (total, total), params


@pytest.mark.parametrize("status", ["completed", "TASK_STATE_CANCELLED", 99])
def test_refuses_a_state_it_does_not_know(partner: Client, status: object) -> None:
    """S13, B025."""
    assert_invalid(refusal_of(partner, "ListTasks", {"status": status}), "status")


@pytest.mark.parametrize(
    "moment", ["2026-01-02T03:04:05", "2026-01-02", "2026-02-30T00:00:00Z", 1767323045]
)
def test_refuses_a_moment_that_is_none(partner: Client, moment: object) -> None:
    """B031."""
    error = refusal_of(partner, "ListTasks", {"statusTimestampAfter": moment})

    assert_invalid(error, "statusTimestampAfter")


def test_a_foreign_context_is_an_empty_list(partner: Client, rival: Client) -> None:
    """S64: the same string of another client is another context."""
    send(rival, contextId="shared")

    listed = result_of(partner, "ListTasks", {"contextId": "shared"})

    assert (listed["tasks"], listed["totalSize"]) == ([], 0)


def test_artifacts_and_history_are_listed_as_asked(partner: Client) -> None:
    """S63, S65, B044, B079."""
    done = send(partner)
    complete(claim(done), result=Result(outputs=(text_output("out"),)))

    (plain,) = result_of(partner, "ListTasks")["tasks"]
    (full,) = result_of(partner, "ListTasks", {"includeArtifacts": True})["tasks"]
    (bare,) = result_of(partner, "ListTasks", {"historyLength": 0})["tasks"]

    assert "artifacts" not in plain
    assert len(plain["history"]) == 1
    assert full == read_task(partner, done["id"])
    assert full["artifacts"][0]["parts"] == [{"text": "out"}]
    assert "history" not in bare


def test_a_list_without_artifacts_does_not_fetch_them(partner: Client) -> None:
    """S65."""
    send(partner)

    with CaptureQueriesContext(
        connection,
    ) as queries:
        result_of(partner, "ListTasks")

    assert not any('"artifacts"' in query["sql"] for query in queries)


# --- CancelTask -----------------------------------------------------------------------


def test_cancels_a_task_that_nobody_works_on(partner: Client) -> None:
    """S66, B039."""
    task = send(partner)

    canceled = result_of(partner, "CancelTask", {"id": task["id"]})

    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
    assert canceled == read_task(partner, task["id"])


def test_cancels_a_task_under_work_and_the_late_result_changes_nothing(
    partner: Client,
) -> None:
    """S66, R3, B039."""
    task = send(partner)
    lease = claim(task)

    canceled = result_of(partner, "CancelTask", {"id": task["id"]})

    now = clock.database_now()
    assert not lifecycle.complete(lease, result=Result(), truncated=False, now=now)
    assert read_task(partner, task["id"]) == canceled


def test_a_second_cancel_is_refused_and_leaves_no_trace(partner: Client) -> None:
    """S66, B041."""
    task = send(partner)
    first = result_of(partner, "CancelTask", {"id": task["id"]})
    events = TaskEvent.objects.count()

    error = refusal_of(partner, "CancelTask", {"id": task["id"]})

    assert error.code is ErrorCode.TASK_NOT_CANCELABLE
    assert read_task(partner, task["id"]) == first
    assert TaskEvent.objects.count() == events


@pytest.mark.parametrize(
    "state",
    [TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED],
)
def test_an_ended_task_cannot_be_canceled(partner: Client, state: TaskState) -> None:
    """S66."""
    task = make_task(state, client=partner)

    error = refusal_of(partner, "CancelTask", {"id": str(task.pk)})

    assert error.code is ErrorCode.TASK_NOT_CANCELABLE


def test_the_run_decides_a_race_with_its_own_end(partner: Client) -> None:
    """S66: the run has ended, its task has not been looked at since."""
    task = send(partner)
    complete(claim(task))
    Task.objects.filter(pk=task["id"]).update(state=TaskState.WORKING)

    error = refusal_of(partner, "CancelTask", {"id": task["id"]})

    assert error.code is ErrorCode.TASK_NOT_CANCELABLE
