"""The official Python SDK 1.3.0 against uvicorn, Celery, PostgreSQL and Redis."""

from __future__ import annotations

import os
import time
import uuid
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests import conftest
from tests.drill.stand import Stand, stand
from tests.interop.sdk import SDK, SDKError, python_command, send_request, state_of

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.interop, pytest.mark.services, pytest.mark.timeout(180)]

PAGER_TASKS = 7


@pytest.fixture(scope="module")
def drill(
    tmp_path_factory: pytest.TempPathFactory, postgresql: str, redis_url: str
) -> Iterator[Stand]:
    directory = tmp_path_factory.mktemp("interop")
    with stand(directory, database=postgresql, redis_url=redis_url) as made:
        made.open()
        made.make_records(
            {"only": {"handler": "drill.read_only"}}, {"pager": {"task_limit": 100}}
        )
        made.start_all_workers()
        yield made


@pytest.fixture(scope="module")
def sdk(drill: Stand) -> Iterator[SDK]:
    command = python_command()
    if not command:
        conftest.missing_service("TEST_SDK_PYTHON names no interpreter with the SDK.")
    environment = {"PATH": os.environ["PATH"]}
    with SDK(command, environment) as started:
        for name in ("client", "pager"):
            started.connect(name, drill.site.base_url, drill.tokens[name])
        yield started


def _texts(task: dict[str, Any]) -> list[str]:
    artifacts = task.get("artifacts", [])
    return [part["text"] for artifact in artifacts for part in artifact["parts"]]


def _wait_until_ended(sdk: SDK, task_id: str) -> dict[str, Any]:
    deadline = time.monotonic() + 30
    while state_of(task := sdk.task(task_id)) in {"SUBMITTED", "WORKING"}:
        assert time.monotonic() < deadline, task
        time.sleep(0.05)
    return task


# --- Card -----------------------------------------------------------------------------


def test_resolves_the_card_at_the_base_url_and_at_the_host_root(
    drill: Stand, sdk: SDK
) -> None:
    """S3, S6, B082."""
    card = sdk.resolve(drill.site.base_url)

    assert sdk.resolve(drill.site.origin) == card
    (interface,) = card["supportedInterfaces"]
    assert interface == {
        "url": drill.site.base_url,
        "protocolBinding": "JSONRPC",
        "protocolVersion": "1.0",
    }
    assert {skill["id"] for skill in card["skills"]} >= {"read_only", "only"}


# --- SendMessage ----------------------------------------------------------------------


def test_waits_for_the_result(drill: Stand, sdk: SDK) -> None:
    """S44; the token goes where the card's security scheme says."""
    drill.gate.open("blocking")

    event = sdk.send("blocking")

    assert state_of(event["task"]) == "COMPLETED"
    assert _texts(event["task"]) == ["blocking is done"]


def test_returns_immediately_and_is_polled(drill: Stand, sdk: SDK) -> None:
    """S44."""
    event = sdk.send("polled", immediate=True)
    task_id = event["task"]["id"]
    drill.gate.wait_for("polled")
    meanwhile = state_of(sdk.task(task_id))
    drill.gate.open("polled")

    task = _wait_until_ended(sdk, task_id)

    assert (state_of(event["task"]), meanwhile) == ("SUBMITTED", "WORKING")
    assert _texts(task) == ["polled is done"]


def test_is_given_the_plain_message_of_a_skill_that_answers_with_one(
    drill: Stand, sdk: SDK
) -> None:
    """S62."""
    drill.gate.open("answered")

    message = sdk.send("answered", skill="answering")["message"]

    assert message["role"] == "ROLE_AGENT"
    assert [part["text"] for part in message["parts"]] == ["answered is done"]
    assert state_of(sdk.task(message["taskId"])) == "COMPLETED"


def test_a_repeated_message_id_is_the_same_task(drill: Stand, sdk: SDK) -> None:
    """S47."""
    drill.gate.open("repeated")
    message_id = str(uuid.uuid4())

    first = sdk.send("repeated", message_id=message_id)
    second = sdk.send("repeated", message_id=message_id)

    assert second == first
    assert drill.gate.names.count("repeated") == 1


def test_a_client_that_gave_up_waiting_repeats_its_message(
    drill: Stand, sdk: SDK
) -> None:
    """S46, S47: the SDK gives up after 5 s unless it is told otherwise."""
    message_id = str(uuid.uuid4())
    with pytest.raises(SDKError) as caught:
        sdk.send("patience", message_id=message_id, timeout=0.5)
    drill.gate.open("patience")

    event = sdk.send("patience", message_id=message_id)

    assert caught.value.kind == "A2AClientTimeoutError"
    assert _texts(event["task"]) == ["patience is done"]
    assert drill.gate.names.count("patience") == 1


def test_a_message_without_a_skill_is_told_which_there_are(sdk: SDK) -> None:
    """S30; the SDK shows its user the metadata of the first detail alone (S14)."""
    with pytest.raises(SDKError) as caught:
        sdk.send("which?", skill="")

    assert caught.value.kind == "InvalidParamsError"
    assert caught.value.data
    assert caught.value.data["reason"] == "PROFILE_REQUIRED"
    assert "read_only" in str(caught.value.data)


def test_a_part_that_the_skill_does_not_take_is_refused(sdk: SDK) -> None:
    """S42."""
    with pytest.raises(SDKError) as caught:
        sdk.send("", parts=[{"raw": "aGk=", "mediaType": "image/png"}])

    assert caught.value.kind == "ContentTypeNotSupportedError"


# --- Tasks ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choices", "count"),
    [
        pytest.param({}, 1, id="all that is kept"),
        pytest.param({"historyLength": 1}, 1, id="the last one"),
        pytest.param({"historyLength": 0}, 0, id="none"),
    ],
)
def test_reads_as_much_history_as_it_asked_for(
    drill: Stand, sdk: SDK, choices: dict[str, int], count: int
) -> None:
    """S63."""
    drill.gate.open("history")
    task_id = sdk.send("history")["task"]["id"]

    task = sdk.task(task_id, **choices)

    assert len(task.get("history", [])) == count


def test_walks_through_its_tasks_page_by_page(drill: Stand, sdk: SDK) -> None:
    """S65: every task once, and the walk ends."""
    drill.gate.open("page")
    made = [
        sdk.send("page", name="pager", skill="")["task"]["id"]
        for _ in range(PAGER_TASKS)
    ]

    pages, token = [], ""
    while not pages or token:
        request = {"pageSize": 3, "pageToken": token}
        pages.append(sdk.call("list_tasks", request, name="pager"))
        token = pages[-1].get("nextPageToken", "")

    listed = [task["id"] for page in pages for task in page["tasks"]]
    assert [len(page["tasks"]) for page in pages] == [3, 3, 1]
    assert Counter(listed) == Counter(made)
    assert {page["totalSize"] for page in pages} == {PAGER_TASKS}


def test_cancels_once_and_is_refused_the_second_time(drill: Stand, sdk: SDK) -> None:
    """S66: and the worker hears of it (R14)."""
    task_id = sdk.send("canceled", immediate=True)["task"]["id"]
    visit = drill.gate.wait_for("canceled")

    canceled = sdk.call("cancel_task", {"id": task_id})
    with pytest.raises(SDKError) as caught:
        sdk.call("cancel_task", {"id": task_id})

    assert state_of(canceled) == "CANCELED"
    assert caught.value.kind == "TaskNotCancelableError"
    visit.wait_until_left(seconds=5)
    assert state_of(sdk.task(task_id)) == "CANCELED"


@pytest.mark.parametrize("method", ["get_task", "cancel_task"])
def test_an_unknown_task_is_not_found(sdk: SDK, method: str) -> None:
    """S64."""
    with pytest.raises(SDKError) as caught:
        sdk.call(method, {"id": str(uuid.uuid4())})

    assert caught.value.kind == "TaskNotFoundError"


# --- What it may not, and what there is not -------------------------------------------


def test_a_wrong_token_is_an_http_error(drill: Stand, sdk: SDK) -> None:
    """S22."""
    sdk.connect("nobody", drill.site.base_url, "a2a_nobody")

    with pytest.raises(SDKError, match="401") as caught:
        sdk.call("list_tasks", {}, name="nobody")

    assert caught.value.kind == "A2AClientError"


@pytest.mark.parametrize("method", ["send_message", "subscribe"])
def test_streaming_is_refused_with_the_protocols_error(
    drill: Stand, sdk: SDK, method: str
) -> None:
    """S10: also where the client does not look at the card first."""
    token = drill.tokens["client"]
    sdk.connect("streaming", drill.site.base_url, token, promises=["streaming"])
    request = {
        "send_message": send_request("streamed"),
        "subscribe": {"id": str(uuid.uuid4())},
    }[method]

    with pytest.raises(SDKError) as caught:
        sdk.call(method, request, name="streaming")

    assert caught.value.kind == "UnsupportedOperationError"


def test_push_notifications_are_refused_with_the_protocols_error(sdk: SDK) -> None:
    """S10."""
    config = {"taskId": str(uuid.uuid4()), "url": "https://peer.example/hook"}

    with pytest.raises(SDKError) as caught:
        sdk.call("create_task_push_notification_config", config)

    assert caught.value.kind == "PushNotificationNotSupportedError"


def test_a_message_with_a_push_config_is_refused_and_not_stored(
    drill: Stand, sdk: SDK
) -> None:
    """S39."""
    before = drill.count("a2a_server_task")
    request = send_request("pushed")
    request["configuration"]["taskPushNotificationConfig"] = {
        "url": "https://peer.example/hook"
    }

    with pytest.raises(SDKError) as caught:
        sdk.call("send_message", request)

    assert caught.value.kind == "PushNotificationNotSupportedError"
    assert drill.count("a2a_server_task") == before


def test_the_extended_card_is_the_card_it_has(drill: Stand, sdk: SDK) -> None:
    """S6: the SDK asks only where the card promises another one."""
    extended = sdk.call("get_extended_agent_card", {})

    assert extended == sdk.resolve(drill.site.base_url)
