"""What the Python SDK does otherwise than the JavaScript one, against the stand."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from tests.interop.sdk import SDKError

if TYPE_CHECKING:
    from tests.interop.conftest import Served
    from tests.interop.sdk import SDK

pytestmark = [pytest.mark.interop, pytest.mark.timeout(180)]


def test_a_wrong_token_is_an_http_error(python_sdk: SDK, served: Served) -> None:
    """S22: it reads an error's body with status 200 alone."""
    python_sdk.connect("nobody", served.base_url, "a2a_nobody")

    with pytest.raises(SDKError, match="401") as caught:
        python_sdk.call("list_tasks", {}, name="nobody")

    assert (caught.value.kind, caught.value.data) == ("A2AClientError", None)


def test_the_deadlines_error_loses_its_body_but_not_the_task(python_sdk: SDK) -> None:
    """S45: the client finds the task by its context."""
    context_id = str(uuid.uuid4())

    with pytest.raises(SDKError, match="504") as caught:
        python_sdk.send("slow 60", skill="", contextId=context_id)

    (task,) = python_sdk.call("list_tasks", {"contextId": context_id})["tasks"]
    canceled = python_sdk.call("cancel_task", {"id": task["id"]})
    assert caught.value.data is None
    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
