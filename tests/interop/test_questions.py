"""What users of the official SDKs see of a task that asks: question, answer, refusal.

Python and JavaScript go through the same tests.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pytest

from a2a_protocol.cards import PROFILE_EXTENSION_URI
from tests import peer
from tests.interop.sdk import SDKError, note_of, parts_of, send_request, state_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.interop.conftest import Served
    from tests.interop.sdk import SDK

pytestmark = [pytest.mark.interop, pytest.mark.timeout(180)]

CHOICE = "choose Which colour?: red, blue"
RACES = 10


def _asked(sdk: SDK, text: str = CHOICE, **choices: Any) -> dict[str, Any]:
    """A new task that waits."""
    task: dict[str, Any] = sdk.send(text, skill="", **choices)["task"]
    assert state_of(task) == "INPUT_REQUIRED", task
    return task


def _answer(sdk: SDK, task: dict[str, Any], text: str, **message: Any) -> Any:
    """The task after an answer that nobody waits for, as a client that polls has it."""
    sdk.send(text, skill="", immediate=True, taskId=task["id"], **message)
    return sdk.ended_task(task["id"])


def _refused(sdk: SDK, task: dict[str, Any], text: str, **message: Any) -> SDKError:
    with pytest.raises(SDKError) as caught:
        sdk.send(text, skill="", taskId=task["id"], **message)
    return caught.value


def _told(task: dict[str, Any]) -> dict[str, Any]:
    """What a program is told of the question."""
    told: dict[str, Any] = task["status"]["message"]["metadata"][PROFILE_EXTENSION_URI]
    return told


def _naming(question_id: str) -> dict[str, Any]:
    return {"metadata": {PROFILE_EXTENSION_URI: {"questionId": question_id}}}


# --- The question ---------------------------------------------------------------------


def test_a_task_that_asks_says_what_it_accepts(sdk: SDK) -> None:
    """S60: for people in the text, for programs in the metadata."""
    task = _asked(sdk)

    assert note_of(task) == "Which colour?\nOne of: «red», «blue»."
    told = _told(task)
    assert told["question"] == "Which colour?"
    assert told["answer"] == {"type": "string", "enum": ["red", "blue"]}
    assert told["questionId"]
    assert sdk.task(task["id"]) == task


def test_whoever_does_not_wait_finds_the_question_by_polling(sdk: SDK) -> None:
    """S44."""
    begun = sdk.send("ask Which colour?", skill="", immediate=True)["task"]

    task = sdk.ended_task(begun["id"])

    assert (state_of(task), note_of(task)) == (
        "INPUT_REQUIRED",
        "Which colour?\nA text.",
    )


def test_a_task_that_asks_is_listed_as_waiting(sdk: SDK) -> None:
    """S65."""
    context_id = str(uuid.uuid4())
    task = _asked(sdk, contextId=context_id)
    request = {"contextId": context_id, "status": "TASK_STATE_INPUT_REQUIRED"}

    (listed,) = sdk.call("list_tasks", request)["tasks"]

    assert listed["id"] == task["id"]
    assert note_of(listed) == note_of(task)


def test_what_cannot_be_asked_is_no_question(sdk: SDK) -> None:
    task = sdk.send("choose Q: a", skill="")["task"]

    assert state_of(task) == "REJECTED"


# --- The answer -----------------------------------------------------------------------


@pytest.mark.parametrize("immediate", [False, True], ids=["blocking", "immediate"])
def test_the_right_answer_completes_the_task(sdk: SDK, immediate: bool) -> None:
    """S71, S72: and whoever waits is given the result."""
    task = _asked(sdk)

    given = sdk.send(" blue ", skill="", taskId=task["id"], immediate=immediate)["task"]

    ended = sdk.ended_task(task["id"])
    assert (state_of(ended), parts_of(ended)) == ("COMPLETED", [{"text": "blue"}])
    assert given["id"] == task["id"]
    assert immediate or given == ended


def test_the_history_is_the_conversation(sdk: SDK) -> None:
    """S63."""
    task = _asked(sdk)

    ended = _answer(sdk, task, "blue", contextId=task["contextId"])

    said = [(one["role"], one["parts"][0]["text"]) for one in ended["history"]]
    assert said == [
        ("ROLE_USER", CHOICE),
        ("ROLE_AGENT", "Which colour?\nOne of: «red», «blue»."),
        ("ROLE_USER", "blue"),
    ]


def test_a_data_part_answers_too(sdk: SDK) -> None:
    """S71."""
    task = _asked(sdk)

    ended = _answer(sdk, task, "", parts=[{"data": {"answer": "red"}}])

    assert parts_of(ended) == [{"text": "red"}]


def test_an_answer_may_name_its_question(sdk: SDK) -> None:
    """S71, T9."""
    task = _asked(sdk)

    ended = _answer(sdk, task, "blue", **_naming(_told(task)["questionId"]))

    assert state_of(ended) == "COMPLETED"


# --- Refusals -------------------------------------------------------------------------


def _is_as_it_was(sdk: SDK, task: dict[str, Any]) -> bool:
    return sdk.task(task["id"]) == task


def test_a_wrong_answer_is_told_what_was_expected_and_costs_nothing(sdk: SDK) -> None:
    """S71, T8: the task waits as before, and the right answer is still taken."""
    task = _asked(sdk)

    error = _refused(sdk, task, "green")

    assert "One of: «red», «blue»." in f"{error} {error.data}"
    assert _is_as_it_was(sdk, task)
    assert parts_of(_answer(sdk, task, "blue")) == [{"text": "blue"}]


def test_the_message_id_of_a_wrong_answer_is_free_again(
    sdk: SDK, language: str, deduplicating: Served
) -> None:
    """S47, S71: also where ids count."""
    address = deduplicating.base_url if language == "python" else deduplicating.origin
    sdk.connect("deduplicated", address, deduplicating.token)
    where = {"skill": "", "name": "deduplicated"}
    task = sdk.send(CHOICE, **where)["task"]
    answer = where | {"taskId": task["id"], "message_id": str(uuid.uuid4())}
    with pytest.raises(SDKError):
        sdk.send("green", **answer)

    first = sdk.send("blue", **answer)["task"]
    again = sdk.send("blue", **answer)["task"]

    assert (state_of(first), parts_of(first)) == ("COMPLETED", [{"text": "blue"}])
    assert again == first


@pytest.mark.parametrize(
    "changes",
    [
        lambda: _naming("0" * 64),
        lambda: {"contextId": str(uuid.uuid4())},
        lambda: {"parts": [{"data": {"colour": "red"}}]},
        lambda: {"parts": [{"data": 5}]},
    ],
    ids=["another question", "another context", "another member", "another type"],
)
def test_what_is_no_answer_to_this_question_changes_nothing(
    sdk: SDK, changes: Callable[[], dict[str, Any]]
) -> None:
    """S70, S71."""
    task = _asked(sdk)

    error = _refused(sdk, task, "red", **changes())

    assert error.kind in {"InvalidParamsError", "RequestMalformedError"}
    assert _is_as_it_was(sdk, task)


def test_a_second_answer_is_told_that_nothing_waits(sdk: SDK) -> None:
    """S70, T10."""
    task = _asked(sdk)
    ended = _answer(sdk, task, "blue")

    error = _refused(sdk, task, "red")

    assert error.kind == "UnsupportedOperationError"
    assert "TASK_TERMINAL" in str(error.data)
    assert _is_as_it_was(sdk, ended)


@pytest.mark.parametrize("race", range(RACES))
def test_of_two_answers_at_once_one_wins_and_the_other_is_told(
    sdk: SDK, rival: SDK, race: int
) -> None:
    """T10, S70."""
    task = _asked(sdk)

    outcomes = peer.at_once(
        [lambda: _attempt(sdk, task, "red"), lambda: _attempt(rival, task, "blue")]
    )

    ended = sdk.ended_task(task["id"])
    (won,) = [one for one in outcomes if not isinstance(one, SDKError)]
    (lost,) = [one for one in outcomes if isinstance(one, SDKError)]
    assert parts_of(ended) == [{"text": won}]
    assert lost.kind == "UnsupportedOperationError"
    assert "TASK_NOT_WAITING" in str(lost.data) or "TASK_TERMINAL" in str(lost.data)
    assert [one["role"] for one in ended["history"]].count("ROLE_USER") == 2


def _attempt(sdk: SDK, task: dict[str, Any], text: str) -> str | SDKError:
    try:
        sdk.send(text, skill="", taskId=task["id"], immediate=True)
    except SDKError as error:
        return error
    return text


def test_a_waiting_task_is_canceled_once_and_takes_no_answer(sdk: SDK) -> None:
    """S66, S70."""
    task = _asked(sdk)

    canceled = sdk.call("cancel_task", {"id": task["id"]})

    assert state_of(canceled) == "CANCELED"
    assert "TASK_TERMINAL" in str(_refused(sdk, task, "blue").data)


# --- Kits -----------------------------------------------------------------------------


def _waiting(sdk: SDK) -> dict[str, Any]:
    return _asked(sdk, "hello", message_id="tck-input-required-1")


def test_a_kits_task_stays_open_until_a_follow_up_completes_it(sdk: SDK) -> None:
    """The same ids again and again, within the task too."""
    task = _waiting(sdk)

    again = sdk.send(
        "more", skill="", taskId=task["id"], message_id="tck-input-required-1"
    )["task"]
    ended = sdk.send(
        "done", skill="", taskId=task["id"], message_id="tck-complete-task-1"
    )["task"]

    assert state_of(again) == "INPUT_REQUIRED"
    assert _told(again)["questionId"] != _told(task)["questionId"]
    assert (state_of(ended), note_of(ended)) == ("COMPLETED", "Hello from TCK")


def test_a_kits_open_task_is_canceled(sdk: SDK) -> None:
    canceled = sdk.call("cancel_task", {"id": _waiting(sdk)["id"]})

    assert state_of(canceled) == "CANCELED"


def test_a_follow_up_without_a_context_belongs_to_its_task(sdk: SDK) -> None:
    """S70."""
    task = _waiting(sdk)
    request = send_request("echo x", skill="", taskId=task["id"])

    (answer,) = sdk.call("send_message", request)

    assert answer["task"]["contextId"] == task["contextId"]
    assert parts_of(answer["task"]) == [{"text": "x"}]
