"""A local server that speaks as much of the OpenAI API as the tests need.

It runs in a thread of its own on a loopback port, records what it was asked, and answers
with what the test put into `answer`: one answer for all, or a function that is given the
request's body.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`hangs`: nothing is sent until the server closes. `breaks`: the body is cut.

    `resets`: after the body the connection is reset, before what was announced is there.
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    hangs: bool = False
    breaks: bool = False
    resets: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


def completion(text: str, **usage: int) -> Answer:
    """A whole answer, as for a request that does not stream."""
    return Answer(
        body=json.dumps(
            {
                "id": "1",
                "object": "chat.completion",
                "created": 1,
                "model": "m",
                "choices": [
                    {
                        "index": 0,
                        "message": {"role": "assistant", "content": text},
                        "finish_reason": "stop",
                    }
                ],
                "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
                | usage,
            }
        ).encode(),
        headers={"Content-Type": "application/json"},
    )


def stream(*pieces: str, ends: bool = True, breaks: bool = False) -> Answer:
    """An answer in pieces, as server-sent events."""
    deltas = [_chunk({"content": piece}, None) for piece in pieces]
    last = [_chunk({}, "stop"), "[DONE]"] if ends else []
    return _events([*deltas, *last], breaks=breaks)


def tool_call(name: str, arguments: str, *, call_id: str) -> Answer:
    """One call, streamed; `arguments` is what the model wrote, JSON or not."""
    return tool_calls((name, arguments), ids=[call_id])


def tool_calls(*calls: tuple[str, str], ids: Sequence[str]) -> Answer:
    """A turn of calls as (name, arguments), each with its id."""
    made = [
        {
            "index": index,
            "id": ids[index],
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        for index, (name, arguments) in enumerate(calls)
    ]
    delta = {"role": "assistant", "tool_calls": made}
    return _events([_chunk(delta, None), _chunk({}, "tool_calls"), "[DONE]"])


def in_turn(*answers: Answer) -> Callable[[dict[str, Any]], Answer]:
    """One after another, to whatever is asked; the last one is repeated."""
    left = list(answers)
    return lambda body: left.pop(0) if left[1:] else left[0]


def _events(chunks: list[str], *, breaks: bool = False) -> Answer:
    body = "".join(f"data: {chunk}\n\n" for chunk in chunks)
    return Answer(
        body=body.encode(),
        headers={"Content-Type": "text/event-stream"},
        breaks=breaks,
    )


def _chunk(delta: dict[str, Any], finish_reason: str | None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return json.dumps(
        {
            "id": "1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [choice],
        }
    )


def refusal(
    status: int, *, headers: dict[str, str] | None = None, **error: str
) -> Answer:
    body = json.dumps({"error": {"message": "no"} | error}).encode()
    return Answer(
        status=status,
        body=body,
        headers={"Content-Type": "application/json"} | (headers or {}),
    )


class OpenAIServer:
    def __init__(self) -> None:
        self.answer: Answer | Callable[[dict[str, Any]], Answer] = completion("ok")
        self.asked: list[Asked] = []
        self._closing = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                # Who asked may have been killed meanwhile.
                with suppress(ConnectionError):
                    server._serve(self)

            def log_message(self, *args: object) -> None:
                """Nothing: a test's output is about the test."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers["Content-Length"])
        body = json.loads(handler.rfile.read(length))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        self.asked.append(Asked(path=handler.path, headers=headers, body=body))
        answer = self.answer(body) if callable(self.answer) else self.answer
        if answer.hangs:
            self._closing.wait(30)
            handler.close_connection = True
            return
        handler.send_response(answer.status)
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        is_cut = answer.breaks or answer.resets
        announced = len(answer.body) + (100 if is_cut else 0)
        handler.send_header("Content-Length", str(announced))
        handler.end_headers()
        handler.wfile.write(answer.body)
        handler.close_connection = is_cut
        if answer.resets:
            _reset(handler.connection)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def _reset(connection: socket.socket) -> None:
    """Close it at once, and say nothing of what may still be under way."""
    no_lingering = struct.pack("ii", 1, 0)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, no_lingering)
    connection.close()


@contextmanager
def running() -> Iterator[OpenAIServer]:
    server = OpenAIServer()
    server.start()
    try:
        yield server
    finally:
        server.stop()
