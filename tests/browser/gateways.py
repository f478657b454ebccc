"""The gateway that the browser is pointed at, and a client that calls it with `curl`."""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from a2a_protocol.cards import PROFILE_EXTENSION_URI

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.processes import Installation, Process

ADMIN = "ada"
PASSWORD = "correct horse battery staple"
# Remote agents on this machine; a trial's setting, which takes a trial's other one.
CLIENT_ROLE = {
    "A2A_CLIENT_ENABLED": "on",
    "A2A_EGRESS_ALLOW_LOOPBACK": "on",
    "DEBUG": "1",
}
_SECONDS = 60
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    site: Installation
    worker: Process

    @contextlib.contextmanager
    def halted_worker(self) -> Iterator[None]:
        """It counts as live for a while and does nothing, so a run stays queued."""
        self.worker.pause()
        try:
            yield
        finally:
            self.worker.resume()


def start_web(site: Installation) -> None:
    """With the first superuser and no other record."""
    site.manage(
        *("createsuperuser", "--noinput", "--username", ADMIN),
        *("--email", "ada@gateway.example"),
        DJANGO_SUPERUSER_PASSWORD=PASSWORD,
    )
    site.start_web()


def start(site: Installation) -> Gateway:
    """Web, worker and the first superuser; no other record."""
    start_web(site)
    worker = site.start_celery_worker() if site.redis_url else site.start_sweep()
    return Gateway(site=site, worker=worker)


def call(site: Installation, token: str, method: str, params: Any) -> dict[str, Any]:
    """The `result` of one call."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = (
        f"Authorization: Bearer {token}",
        "A2A-Version: 1.0",
        "Content-Type: application/json",
    )
    options = ["--silent", "--show-error", "--noproxy", "*"]
    options += [word for header in headers for word in ("--header", header)]
    done = subprocess.run(
        ["curl", *options, "--data", json.dumps(body), site.base_url],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=True,
    )
    reply: dict[str, Any] = json.loads(done.stdout)
    assert "result" in reply, reply
    result: dict[str, Any] = reply["result"]
    return result


def send(
    site: Installation, token: str, skill: str, text: str, *, waits: bool = True
) -> dict[str, Any]:
    """The task that a message makes, ended where the client waits for it."""
    message = {
        "messageId": f"message-{next(_numbers)}",
        "role": "ROLE_USER",
        "parts": [{"text": text}],
    }
    params = {
        "message": message,
        "metadata": {PROFILE_EXTENSION_URI: skill},
        "configuration": {"returnImmediately": not waits},
    }
    task: dict[str, Any] = call(site, token, "SendMessage", params)["task"]
    return task


def state_of(site: Installation, token: str, task_id: str) -> str:
    task = call(site, token, "GetTask", {"id": task_id})
    return str(task["status"]["state"])
