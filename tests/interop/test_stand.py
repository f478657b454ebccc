"""What the official SDKs give back of the conformance stand is what its tables say.

Python and JavaScript go through the same tests; what only one of them does differently is
in the two files beside.
"""

from __future__ import annotations

import uuid
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests import processes
from tests.conformance.handlers import BY_COMMAND, BY_PREFIX, QUESTIONS
from tests.interop.sdk import SDKError, note_of, parts_of, send_request, state_of

if TYPE_CHECKING:
    from tests.interop.conftest import Served
    from tests.interop.sdk import SDK

pytestmark = [pytest.mark.interop, pytest.mark.timeout(180)]

FILE = {"filename": "output.txt", "mediaType": "text/plain"}
REFUSAL = "The stand refuses this message, as it was asked to."
PAGED_TASKS = 5


# --- Card -----------------------------------------------------------------------------


@pytest.mark.parametrize("trailing", ["", "/"], ids=["without slash", "with slash"])
def test_resolves_one_card_from_base_url_and_host_root(
    sdk: SDK, served: Served, trailing: str
) -> None:
    """S3, S6. One SDK drops the last segment of an address without a slash (B082)."""
    card = sdk.resolve(served.base_url + trailing)

    assert card == sdk.resolve(served.origin + trailing)
    (interface,) = card["supportedInterfaces"]
    assert interface["url"] == served.base_url
    assert [skill["id"] for skill in card["skills"]] == ["stand"]


# --- The table of message ids ---------------------------------------------------------

BY_ID: dict[str, tuple[str, str, list[dict[str, Any]]]] = {
    "tck-complete-task": ("COMPLETED", "Hello from TCK", []),
    "tck-artifact-text": ("COMPLETED", "", [{"text": "Generated text content"}]),
    "tck-artifact-file-url": (
        "COMPLETED",
        "",
        [{"url": "https://example.com/output.txt"} | FILE],
    ),
    "tck-artifact-file": ("COMPLETED", "", [{"raw": "dGNr"} | FILE]),
    "tck-artifact-data": ("COMPLETED", "", [{"data": {"key": "value", "count": 42}}]),
    "tck-reject-task": ("REJECTED", REFUSAL, []),
    "an-id-that-chooses-nothing": ("COMPLETED", "", []),
}
# A plain message, one that takes four seconds and one that waits have tests of their own.
_ELSEWHERE = {
    "tck-message-response",
    "test-resubscribe-message-id",
    "tck-input-required",
}


def test_every_prefix_of_the_stand_has_its_row() -> None:
    assert set(BY_PREFIX) - _ELSEWHERE <= set(BY_ID)


@pytest.mark.parametrize("immediate", [False, True], ids=["blocking", "immediate"])
@pytest.mark.parametrize("prefix", BY_ID)
def test_the_message_id_chooses(sdk: SDK, prefix: str, immediate: bool) -> None:
    """S44, S60, S62; the same ids again and again, since nothing is deduplicated."""
    state, note, parts = BY_ID[prefix]

    (answer,) = sdk.call(
        "send_message",
        send_request("hello", skill="", message_id=f"{prefix}-1", immediate=immediate),
    )

    task = sdk.ended_task(answer["task"]["id"])
    assert (state_of(task), note_of(task), parts_of(task)) == (state, note, parts)
    if not immediate:
        assert answer["task"] == task


def test_a_message_id_that_takes_four_seconds_is_worked_on_meanwhile(sdk: SDK) -> None:
    message_id = "test-resubscribe-message-id-1"
    answer = sdk.send("hello", skill="", message_id=message_id, immediate=True)
    task_id = answer["task"]["id"]

    processes.wait_until(
        lambda: state_of(sdk.task(task_id)) == "WORKING", what="a start"
    )

    assert state_of(sdk.ended_task(task_id)) == "COMPLETED"


# --- The table of texts ---------------------------------------------------------------

BY_TEXT: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "echo A b, c!": ("COMPLETED", [{"text": "A b, c!"}]),
    "slow 0.2": ("COMPLETED", [{"text": "worked 0.2 s"}]),
    "fail": ("FAILED", []),
    "crash": ("FAILED", []),
    "skill": ("COMPLETED", [{"data": {"skill": "stand", "metadata": {"a": "b"}}}]),
    "reject": ("REJECTED", []),
    "whatever else": ("COMPLETED", []),
}


def test_every_command_of_the_stand_has_its_row() -> None:
    commands = {text.split()[0] for text in BY_TEXT}

    assert set(BY_COMMAND) - {"message"} - set(QUESTIONS) <= commands


@pytest.mark.parametrize("text", BY_TEXT)
def test_the_text_chooses(sdk: SDK, text: str) -> None:
    """S44, S60, S62."""
    state, parts = BY_TEXT[text]
    request = send_request(text, skill="") | {"metadata": {"a": "b"}}

    (answer,) = sdk.call("send_message", request)

    task = answer["task"]
    assert (state_of(task), parts_of(task)) == (state, parts)
    assert task == sdk.task(task["id"])


@pytest.mark.parametrize("text", ["fail", "crash"])
def test_a_failure_names_nothing_internal(sdk: SDK, text: str) -> None:
    """S60: one sentence, and nothing of what the handler raised."""
    task = sdk.send(text, skill="")["task"]

    assert note_of(task)
    told = str(task).lower()
    assert not [word for word in ("secret", "postgres", "error") if word in told]


def test_a_refusal_says_why(sdk: SDK) -> None:
    """S60."""
    task = sdk.send("reject", skill="")["task"]

    assert note_of(task) == REFUSAL


@pytest.mark.parametrize(
    ("text", "message_id", "words"),
    [
        pytest.param("message Hi there", "", "Hi there", id="by text"),
        pytest.param(
            "hello", "tck-message-response-1", "Direct message response", id="by id"
        ),
    ],
)
def test_a_plain_message_comes_as_one(
    sdk: SDK, text: str, message_id: str, words: str
) -> None:
    """S62; the task beside it carries it as its status message."""
    answer = sdk.send(text, skill="", message_id=message_id)

    message = answer["message"]
    task = sdk.task(message["taskId"])
    assert [part["text"] for part in message["parts"]] == [words]
    assert message["role"] == "ROLE_AGENT"
    assert (state_of(task), note_of(task)) == ("COMPLETED", words)
    assert message["contextId"] == task["contextId"]


def test_a_plain_message_is_a_task_for_whoever_does_not_wait(sdk: SDK) -> None:
    """S62."""
    answer = sdk.send("message Hi", skill="", immediate=True)

    assert note_of(sdk.ended_task(answer["task"]["id"])) == "Hi"


# --- Tasks ----------------------------------------------------------------------------


def test_slow_work_is_canceled_once(sdk: SDK) -> None:
    """S66."""
    task_id = sdk.send("slow 60", skill="", immediate=True)["task"]["id"]
    processes.wait_until(
        lambda: state_of(sdk.task(task_id)) == "WORKING", what="a start"
    )

    canceled = sdk.call("cancel_task", {"id": task_id})

    assert state_of(canceled) == "CANCELED"
    assert sdk.task(task_id) == canceled
    with pytest.raises(SDKError) as caught:
        sdk.call("cancel_task", {"id": task_id})
    assert caught.value.kind == "TaskNotCancelableError"


def test_history_is_what_was_said(sdk: SDK) -> None:
    """S63: the message as it was sent, with the ids that it got."""
    message_id = str(uuid.uuid4())
    task_id = sdk.send("echo x", skill="", message_id=message_id)["task"]["id"]

    task = sdk.task(task_id)

    (said,) = task["history"]
    assert said["messageId"] == message_id
    assert said["role"] == "ROLE_USER"
    assert said["parts"] == [{"text": "echo x"}]
    assert (said["taskId"], said["contextId"]) == (task_id, task["contextId"])
    assert not sdk.task(task_id, historyLength=0).get("history")


def _make_tasks(sdk: SDK, context_id: str, *texts: str) -> list[str]:
    return [
        sdk.send(text, skill="", contextId=context_id)["task"]["id"] for text in texts
    ]


def test_walks_through_a_context_page_by_page(sdk: SDK) -> None:
    """S65: newest first, every task once, and the walk ends."""
    context_id = str(uuid.uuid4())
    made = _make_tasks(sdk, context_id, *["echo page"] * PAGED_TASKS)

    pages: list[dict[str, Any]] = []
    token = ""
    while not pages or token:
        request = {"contextId": context_id, "pageSize": 2, "pageToken": token}
        pages.append(sdk.call("list_tasks", request))
        token = pages[-1].get("nextPageToken", "")

    listed = [task["id"] for page in pages for task in page["tasks"]]
    assert [len(page["tasks"]) for page in pages] == [2, 2, 1]
    assert {(page["totalSize"], page["pageSize"]) for page in pages} == {
        (PAGED_TASKS, 2)
    }
    assert Counter(listed) == Counter(made)
    assert listed == made[::-1]


def test_lists_one_state_and_artifacts_only_when_asked(sdk: SDK) -> None:
    """S65."""
    context_id = str(uuid.uuid4())
    echoed, _ = _make_tasks(sdk, context_id, "echo kept", "fail")
    request = {"contextId": context_id, "status": "TASK_STATE_COMPLETED"}

    (bare,) = sdk.call("list_tasks", request)["tasks"]
    (whole,) = sdk.call("list_tasks", request | {"includeArtifacts": True})["tasks"]

    assert bare["id"] == whole["id"] == echoed
    assert not bare.get("artifacts")
    assert parts_of(whole) == [{"text": "kept"}]


# --- Repeated ids ---------------------------------------------------------------------


def test_a_repeated_id_is_a_new_task_on_the_stand(sdk: SDK) -> None:
    message_id = str(uuid.uuid4())

    first = sdk.send("echo 1", skill="", message_id=message_id)["task"]
    second = sdk.send("echo 2", skill="", message_id=message_id)["task"]

    assert first["id"] != second["id"]
    assert parts_of(second) == [{"text": "2"}]


def test_a_repeated_id_is_the_same_task_where_they_count(
    sdk: SDK, deduplicating: Served
) -> None:
    """S47: also with other content, and also when nobody waits."""
    message_id = str(uuid.uuid4())
    sdk.connect("deduplicated", deduplicating.base_url, deduplicating.token)
    where = {"skill": "", "name": "deduplicated", "message_id": message_id}
    first = sdk.send("echo 1", **where)["task"]

    again = sdk.send("echo 1", **where)["task"]
    other = sdk.send("echo 2", **where)["task"]
    at_once = sdk.send("echo 1", immediate=True, **where)["task"]

    assert [again, other, at_once] == [first] * 3


# --- Errors ---------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["get_task", "cancel_task"])
def test_an_unknown_task_is_not_found(sdk: SDK, method: str) -> None:
    """S64."""
    with pytest.raises(SDKError) as caught:
        sdk.call(method, {"id": str(uuid.uuid4())})

    assert caught.value.kind == "TaskNotFoundError"


def test_another_version_is_not_supported(sdk: SDK, served: Served) -> None:
    """S11."""
    sdk.connect("newer", served.base_url, served.token, version="1.7")

    with pytest.raises(SDKError) as caught:
        sdk.call("get_task", {"id": str(uuid.uuid4())}, name="newer")

    assert caught.value.kind == "VersionNotSupportedError"
    assert "supportedVersions" in str(caught.value.data)


def test_an_ended_task_takes_no_message(sdk: SDK) -> None:
    """S70."""
    task_id = sdk.send("echo x", skill="")["task"]["id"]

    with pytest.raises(SDKError) as caught:
        sdk.send("more", skill="", taskId=task_id)

    assert caught.value.kind == "UnsupportedOperationError"
    assert "TASK_TERMINAL" in str(caught.value.data)


def test_a_part_that_the_stand_does_not_take_is_refused(sdk: SDK) -> None:
    """S42."""
    with pytest.raises(SDKError) as caught:
        sdk.send("", skill="", parts=[{"raw": "aGk=", "mediaType": "image/png"}])

    assert caught.value.kind == "ContentTypeNotSupportedError"


def test_subscribing_is_refused_whatever_the_client_thinks(
    sdk: SDK, served: Served
) -> None:
    """S10: the profiles have no streaming yet."""
    sdk.connect("eager", served.base_url, served.token, promises=["streaming"])

    with pytest.raises(SDKError) as caught:
        sdk.call("subscribe", {"id": str(uuid.uuid4())}, name="eager")

    assert caught.value.kind == "UnsupportedOperationError"


def test_push_is_refused_whatever_the_client_thinks(sdk: SDK, served: Served) -> None:
    """S10."""
    sdk.connect("eager", served.base_url, served.token, promises=["pushNotifications"])
    config = {"taskId": str(uuid.uuid4()), "url": "https://peer.example/hook"}

    with pytest.raises(SDKError) as caught:
        sdk.call("create_task_push_notification_config", config, name="eager")

    assert caught.value.kind == "PushNotificationNotSupportedError"


def test_the_extended_card_is_the_card(sdk: SDK, served: Served) -> None:
    """S6: there is none, and both SDKs give their users what there is."""
    assert sdk.call("get_extended_agent_card", {}) == sdk.resolve(served.base_url)
