"""An official SDK in a process of its own, as seen from a test."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from a2a_protocol.cards import PROFILE_EXTENSION_URI
from tests import processes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PYTHON_DRIVER = Path(__file__).with_name("client_1_3.py")
JAVASCRIPT_DRIVER = Path(__file__).with_name("client_1_3.mjs")
PYTHON_AGENT = Path(__file__).with_name("agent_1_3.py")
JAVASCRIPT_AGENT = Path(__file__).with_name("agent_1_3.mjs")


class SDKError(Exception):
    """`kind` is the SDK's class; `data` what it tells its user besides the message.

    In Python that is one detail's metadata, in JavaScript all details.
    """

    def __init__(self, kind: str, message: str, data: Any) -> None:
        super().__init__(message)
        self.kind = kind
        self.data = data


class Program:
    """A program that takes orders: one JSON object a line in, one a line out."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            command,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.communicate(timeout=20)

    def _order(self, **order: Any) -> Any:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer = self._line()
        if "error" in answer:
            raise SDKError(**answer["error"])
        return answer["result"]

    def _line(self) -> Any:
        assert self._process.stdout
        return json.loads(self._process.stdout.readline())


class SDK(Program):
    """Clients are connected under a name, and call by it."""

    def resolve(self, url: str) -> dict[str, Any]:
        card: dict[str, Any] = self._order(do="resolve", url=url)
        return card

    def connect(self, name: str, url: str, token: str, **options: Any) -> None:
        self._order(do="connect", name=name, url=url, token=token, **options)

    def call(
        self,
        method: str,
        request: dict[str, Any],
        *,
        name: str = "client",
        timeout: float = 30.0,
        **options: Any,
    ) -> Any:
        order = {"name": name, "method": method, "request": request} | options
        return self._order(do="call", timeout=timeout, **order)

    def send(
        self, text: str, *, name: str = "client", **choices: Any
    ) -> dict[str, Any]:
        """The one event of an answer that does not stream."""
        timeout = choices.pop("timeout", 30.0)
        request = send_request(text, **choices)
        (event,) = self.call("send_message", request, name=name, timeout=timeout)
        told: dict[str, Any] = event
        return told

    def task(self, task_id: str, **choices: Any) -> dict[str, Any]:
        task: dict[str, Any] = self.call("get_task", {"id": task_id} | choices)
        return task

    def ended_task(self, task_id: str) -> dict[str, Any]:
        """Asks until it has ended, as a client that polls would."""
        seen: list[dict[str, Any]] = []

        def has_ended() -> bool:
            seen.append(self.task(task_id))
            state = seen[-1]["status"]["state"]
            return state not in {"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"}

        processes.wait_until(has_ended, what="the task's end")
        return seen[-1]

    def sent(self) -> str:
        """The body of the last request; the JavaScript driver alone tells it."""
        body: str = self._order(do="sent")
        return body


class Agent(Program):
    """Agents on one port; what they do is written down in `agent_1_3.py`.

    `name` is one of «open», «bearer» and «key»; the two last want `SECRET`.
    """

    SECRET = "s3cret"

    def __enter__(self) -> Self:
        self.port: int = self._line()["port"]
        return self

    def base_url(self, name: str = "open") -> str:
        return f"http://127.0.0.1:{self.port}/{name}"

    def card_url(self, name: str = "open") -> str:
        return f"{self.base_url(name)}/.well-known/agent-card.json"

    def go_on(self) -> None:
        """Let every task complete that waits by now."""
        self._order(do="go_on")

    def requests(self) -> list[dict[str, Any]]:
        """Method and parameters of each request since the last time."""
        asked: list[dict[str, Any]] = self._order(do="requests")
        return asked


def state_of(task: Mapping[str, Any]) -> str:
    state: str = task["status"]["state"]
    return state.removeprefix("TASK_STATE_")


def note_of(task: Mapping[str, Any]) -> str:
    """The text of the status's message, if there is one."""
    parts = task["status"].get("message", {}).get("parts", [])
    return "".join(part["text"] for part in parts)


def parts_of(task: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [part for made in task.get("artifacts", []) for part in made["parts"]]


def python_command(driver: Path = PYTHON_DRIVER) -> list[str]:
    """Empty where the SDK is not installed; see the Makefile."""
    python = os.environ.get("TEST_SDK_PYTHON", "")
    return [python, str(driver)] if python else []


def javascript_command(driver: Path = JAVASCRIPT_DRIVER) -> list[str]:
    """Likewise; the folder may bring a Node.js of its own."""
    folder = os.environ.get("TEST_SDK_JAVASCRIPT", "")
    path = os.pathsep.join([f"{folder}/bin", os.environ["PATH"]])
    node = shutil.which("node", path=path)
    return [node, str(driver), folder] if folder and node else []


def send_request(
    text: str,
    *,
    skill: str = "read_only",
    message_id: str = "",
    immediate: bool = False,
    **message: Any,
) -> dict[str, Any]:
    request: dict[str, Any] = {
        "message": {
            "messageId": message_id or str(uuid.uuid4()),
            "role": "ROLE_USER",
            "parts": [{"text": text}],
        }
        | message,
        "configuration": {"returnImmediately": immediate},
    }
    if skill:
        request["metadata"] = {PROFILE_EXTENSION_URI: skill}
    return request
