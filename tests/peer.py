"""A remote agent over real HTTP, for tests with real processes.

It speaks plain JSON-RPC, knows nothing of our own code but the extension's address, and
keeps whatever comes back as it came.
"""

from __future__ import annotations

import itertools
import json
import logging
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urlsplit

import httpx2

from a2a_protocol.cards import PROFILE_EXTENSION_URI
from tests.asgi_peer import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")

# One line a request would bury what a failed test has to say.
logging.getLogger("httpx2").setLevel(logging.WARNING)

# Longer than any answer of the product may take.
_SECONDS = 110.0
_ENDED = {"COMPLETED", "FAILED", "CANCELED", "REJECTED"}


class Peer:
    """May be used from several threads. `port` goes around a load balancer."""

    def __init__(self, base_url: str, token: str, *, port: int | None = None) -> None:
        self.base_url = base_url
        self._host = urlsplit(base_url).netloc
        self._url = (
            base_url.replace(self._host, f"127.0.0.1:{port}") if port else base_url
        )
        self.token = token
        self._numbers = itertools.count(1)
        self._http = httpx2.Client(
            timeout=_SECONDS,
            trust_env=False,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._http.close()

    # --- Calls ------------------------------------------------------------------------

    def call(self, method: str, params: dict[str, Any]) -> Answer:
        return self.post(self._request(method, params))

    def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        number = next(self._numbers)
        return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}

    def post(self, request: object) -> Answer:
        response = self._http.post(self._url, json=request, headers=self.headers)
        return Answer(
            status=response.status_code,
            headers=dict(response.headers),
            body=response.content,
        )

    @property
    def headers(self) -> dict[str, str]:
        return {
            "Host": self._host,
            "Authorization": f"Bearer {self.token}",
            "A2A-Version": "1.0",
        }

    # --- For tests that hold the connection themselves --------------------------------

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.base_url)
        assert parts.hostname
        assert parts.port
        return parts.hostname, parts.port

    def head(self, headers: dict[str, str]) -> bytes:
        lines = {"Content-Type": "application/json"} | self.headers | headers
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        return f"POST {urlsplit(self.base_url).path} HTTP/1.1\r\n{head}\r\n".encode()

    def raw(self, method: str, params: dict[str, Any]) -> bytes:
        """The bytes of a whole request."""
        body = json.dumps(self._request(method, params)).encode()
        return self.head({"Content-Length": str(len(body))}) + body

    # --- Operations -------------------------------------------------------------------

    def send(self, text: str, *, wait: bool = False, **choices: Any) -> Answer:
        return self.call("SendMessage", send_params(text, wait=wait, **choices))

    def start(self, text: str, **choices: Any) -> str:
        """Send without waiting; the new task's id."""
        task_id: str = task_of(self.send(text, **choices))["id"]
        return task_id

    def task(self, task_id: str) -> dict[str, Any]:
        task: dict[str, Any] = result_of(self.call("GetTask", {"id": task_id}))
        return task

    def state(self, task_id: str) -> str:
        return state_of(self.task(task_id))

    def wait_until_ended(
        self, task_id: str, *, seconds: float = 30.0
    ) -> dict[str, Any]:
        """Poll as a client does that was told to return immediately."""
        deadline = time.monotonic() + seconds
        while state_of(task := self.task(task_id)) not in _ENDED:
            assert time.monotonic() < deadline, f"still {state_of(task)}"
            time.sleep(0.05)
        return task


def send_params(
    text: str,
    *,
    wait: bool = False,
    skill: str = "",
    message_id: str = "",
    **members: Any,
) -> dict[str, Any]:
    """SendMessage's params; `members` are more of the message's."""
    message = {
        "messageId": message_id or str(uuid.uuid4()),
        "role": "ROLE_USER",
        "parts": [{"text": text}],
    }
    params: dict[str, Any] = {
        "message": message | members,
        "configuration": {"returnImmediately": not wait},
    }
    if skill:
        params["metadata"] = {PROFILE_EXTENSION_URI: skill}
    return params


# --- What came back -------------------------------------------------------------------


def result_of(answer: Answer) -> Any:
    assert "result" in answer.json, (answer.status, answer.body)
    return answer.json["result"]


def task_of(answer: Answer) -> dict[str, Any]:
    task: dict[str, Any] = result_of(answer)["task"]
    return task


def state_of(task: dict[str, Any]) -> str:
    state: str = task["status"]["state"]
    return state.removeprefix("TASK_STATE_")


def text_of(task: dict[str, Any]) -> str:
    """The text of its only artifact."""
    (artifact,) = task["artifacts"]
    (part,) = artifact["parts"]
    text: str = part["text"]
    return text


def at_once(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Make all calls at the same moment; their results in order."""
    barrier = threading.Barrier(len(calls))

    def start(call: Callable[[], T]) -> T:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(start, calls))
