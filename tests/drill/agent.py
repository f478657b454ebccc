"""The remote agents of the drill, in the test's own process: they count what they get.

Before each answer they come to the gate, as `<run id>/agent.<what>`: «message», «poll»,
«cancel», and «event» in the middle of a stream. A task has the text that it was given for
an id; «pass-on …» asks something before it is done, «linger …» is never done.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.a2a_client import agents, scripts
from tests.a2a_client.peer import Peer, head
from tests.drill import model
from tests.drill.visiting import wait_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.a2a_client.peer import Exchange

# Not an address of the installation, so that its guard lets it through.
HOST = "127.0.0.2"
_AT_ONCE = 64
_SENDING = ("SendMessage", "SendStreamingMessage")


class DrillAgent:
    """`gate_port` and `run_ids`, by the text, are to be set before anybody calls."""

    def __init__(self, peer: Peer, threads: ThreadPoolExecutor) -> None:
        self.gate_port = 0
        self.run_ids: dict[str, str] = {}
        self._peer = peer
        self._threads = threads
        peer.on("SendMessage", self._message)
        peer.on("SendStreamingMessage", self._stream)
        peer.on("GetTask", self._poll)
        peer.on("CancelTask", self._cancel)

    @property
    def records(self) -> dict[str, Any]:
        """For `drill_records`."""
        patient = {"max_active_calls": 100, "timeout_seconds": 120}
        values = {"url": self._peer.url, **patient}
        card = '{"name": "Streaming", "capabilities": {"streaming": true}}'
        streaming = {"delivery": "stream", "card": card}
        return {model.POLLED: values, model.STREAMING: values | streaming}

    # --- What it was sent -------------------------------------------------------------

    def messages(self, text: str) -> Counter[str]:
        """How often each message came that began the task or belongs to it, by its id."""
        sent = [each for name in _SENDING for each in self._peer.of(name)]
        messages = [received.params["message"] for received in sent]
        return Counter(m["messageId"] for m in messages if _text(m) == text)

    def cancellations(self, text: str) -> int:
        return sum(each.params["id"] == text for each in self._peer.of("CancelTask"))

    # --- What it answers --------------------------------------------------------------

    async def _message(self, exchange: Exchange) -> None:
        message = exchange.received.params["message"]
        text = _text(message)
        await self._visit(text, "message")
        asks = text.startswith(model.PASS_ON) and "taskId" not in message
        said = {"say": "For which section?"} if asks else {}
        state = "INPUT_REQUIRED" if asks else "WORKING"
        await scripts.result({"task": _task(text, state, **said)})(exchange)

    async def _stream(self, exchange: Exchange) -> None:
        text = _text(exchange.received.params["message"])
        await self._visit(text, "message")
        await exchange.send(head(200, scripts.EVENTS))
        for number, event in enumerate(({"task": _task(text, "WORKING")}, _done(text))):
            if number:
                await self._visit(text, "event")
            await exchange.send(scripts.event(exchange.received, event))

    async def _poll(self, exchange: Exchange) -> None:
        text = exchange.received.params["id"]
        await self._visit(text, "poll")
        is_over = not text.startswith(model.LINGER)
        task = _done(text)["task"] if is_over else _task(text, "WORKING")
        await scripts.result(task)(exchange)

    async def _cancel(self, exchange: Exchange) -> None:
        text = exchange.received.params["id"]
        await self._visit(text, "cancel")
        await scripts.result(_task(text, "CANCELED"))(exchange)

    async def _visit(self, text: str, what: str) -> None:
        loop, name = asyncio.get_running_loop(), f"{self.run_ids[text]}/agent.{what}"
        await loop.run_in_executor(self._threads, wait_at, self.gate_port, name)


def _text(message: dict[str, Any]) -> str:
    text: str = message.get("taskId") or message["parts"][0]["text"]
    return text


def _task(text: str, state: str, **members: Any) -> dict[str, Any]:
    return agents.task(state, id=text, **members)


def _done(text: str) -> dict[str, Any]:
    artifacts = [agents.artifact(f"All of {text}.")]
    return {"task": _task(text, "COMPLETED", artifacts=artifacts)}


@contextmanager
def running() -> Iterator[DrillAgent]:
    with ThreadPoolExecutor(_AT_ONCE) as threads, Peer(host=HOST) as peer:
        yield DrillAgent(peer, threads)
