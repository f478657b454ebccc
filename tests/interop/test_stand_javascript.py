"""What the JavaScript SDK does otherwise than the Python one, against the stand."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING

import pytest

from tests.interop.sdk import SDKError

if TYPE_CHECKING:
    from tests.interop.conftest import Served
    from tests.interop.sdk import SDK

pytestmark = [pytest.mark.interop, pytest.mark.timeout(180)]


def test_an_unset_status_filter_filters_nothing(javascript_sdk: SDK) -> None:
    """S13: plain JavaScript leaves it out, and the SDK writes a state that is none."""
    context_id = str(uuid.uuid4())
    made = [
        javascript_sdk.send(text, skill="", contextId=context_id)["task"]["id"]
        for text in ("echo x", "fail", "reject")
    ]

    listed = javascript_sdk.call("list_tasks", {"contextId": context_id}, plain=True)

    sent = json.loads(javascript_sdk.sent())["params"]
    assert sent == {"contextId": context_id, "status": "UNRECOGNIZED"}
    assert [task["id"] for task in listed["tasks"]] == made[::-1]
    assert listed["totalSize"] == len(made)


def test_is_told_what_the_body_of_an_http_error_says(
    javascript_sdk: SDK, served: Served
) -> None:
    """S14, S22: it reads error bodies at any status."""
    javascript_sdk.connect("nobody", served.origin, "a2a_nobody")

    with pytest.raises(SDKError) as caught:
        javascript_sdk.call("list_tasks", {}, name="nobody")

    (detail,) = caught.value.data
    assert caught.value.kind == "RequestMalformedError"
    assert detail["reason"] == "UNAUTHENTICATED"


def test_learns_the_task_of_a_message_that_takes_too_long(javascript_sdk: SDK) -> None:
    """S45: the error names it, and the task can be read and canceled."""
    with pytest.raises(SDKError) as caught:
        javascript_sdk.send("slow 60", skill="")

    metadata = caught.value.data[0]["metadata"]
    canceled = javascript_sdk.call("cancel_task", {"id": metadata["taskId"]})
    assert metadata["reason"] == "BLOCKING_DEADLINE_EXCEEDED"
    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"


def test_who_hangs_up_leaves_a_task_that_goes_on(javascript_sdk: SDK) -> None:
    """S46."""
    context_id = str(uuid.uuid4())

    with pytest.raises(SDKError) as caught:
        javascript_sdk.send("slow 1", skill="", contextId=context_id, timeout=0.3)

    assert caught.value.kind == "TimeoutError"
    (task,) = javascript_sdk.call("list_tasks", {"contextId": context_id})["tasks"]
    assert javascript_sdk.ended_task(task["id"])["status"]["state"] == (
        "TASK_STATE_COMPLETED"
    )
