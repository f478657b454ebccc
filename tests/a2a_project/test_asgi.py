"""The whole application behind its real server: what only sockets can show."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from a2a_project.asgi import application
from a2a_server import executor
from a2a_server.models import Task, TaskState, WaitingSlot
from tests import factories
from tests.web_server import ENOUGH, WebServer, serving

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from pytest_django.fixtures import SettingsWrapper

    from a2a_server.models import Client

pytestmark = pytest.mark.django_db(transaction=True)

MESSAGE = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}


@pytest.fixture
def server(settings: SettingsWrapper) -> Iterator[WebServer]:
    settings.A2A_REDIS_URL = ""
    with serving(application) as server:
        settings.A2A_SERVER_BASE_URLS = [f"http://127.0.0.1:{server.port}/a2a"]
        yield server
    executor.close()


@pytest.fixture
def client() -> Client:
    factories.make_worker()
    return factories.make_client(profiles=[factories.make_profile()])


def head(server: WebServer, authorization: str, *lines: str) -> bytes:
    fixed = [
        "POST /a2a HTTP/1.1",
        f"host: 127.0.0.1:{server.port}",
        "content-type: application/json",
        "a2a-version: 1.0",
        f"authorization: {authorization}",
    ]
    return "\r\n".join([*fixed, *lines, "", ""]).encode()


def call(method: str, params: Any = None) -> bytes:
    return json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    ).encode()


def with_length(server: WebServer, authorization: str, body: bytes) -> bytes:
    return head(server, authorization, f"content-length: {len(body)}") + body


def read_answer(peer: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """One answer with a Content-Length."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += _more(peer)
    top, _, body = received.partition(b"\r\n\r\n")
    status, *lines = top.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    while len(body) < int(headers["content-length"]):
        body += _more(peer)
    return int(status.split()[1]), headers, body


def _more(peer: socket.socket) -> bytes:
    data = peer.recv(65536)
    assert data, "the server closed too early"
    return data


def _is_closed(peer: socket.socket) -> bool:
    try:
        while peer.recv(65536):
            continue
    except ConnectionError:
        return True
    return True


def test_serves_card_and_calls_on_one_connection(
    server: WebServer, client: Client
) -> None:
    """B080: a GET of the card, then a POST to the URL in it."""
    token = factories.token_of(client).header
    get = f"GET /.well-known/agent-card.json HTTP/1.1\r\nhost: 127.0.0.1:{server.port}"
    with server.connect() as peer:
        peer.sendall(f"{get}\r\n\r\n".encode())
        _, _, card = read_answer(peer)
        for _ in range(2):
            peer.sendall(with_length(server, token, call("ListTasks")))
            status, _, answer = read_answer(peer)

    url = json.loads(card)["supportedInterfaces"][0]["url"]
    assert url == f"http://127.0.0.1:{server.port}/a2a"
    assert status == 200
    assert json.loads(answer)["result"]["totalSize"] == 0


def test_the_admin_stays_django(server: WebServer) -> None:
    """S4."""
    with server.connect() as peer:
        peer.sendall(b"GET /admin/ HTTP/1.1\r\nhost: localhost\r\n\r\n")
        status, headers, _ = read_answer(peer)

    assert status == 302
    assert headers["location"].startswith("/admin/login")


def test_a_peer_that_goes_on_sending_reads_its_refusal(server: WebServer) -> None:
    """S10, B093: the early answer is not lost in a reset, and the connection closes."""
    with server.connect() as peer:
        peer.sendall(head(server, "Bearer wrong", "transfer-encoding: chunked"))
        for _ in range(3):
            peer.sendall(b"2000\r\n" + b"x" * 0x2000 + b"\r\n")
        status, headers, body = read_answer(peer)

        assert status == 401
        assert headers["connection"] == "close"
        assert json.loads(body)["error"]["code"] == -32600
        peer.sendall(b"0\r\n\r\n")
        assert _is_closed(peer)


def test_an_endless_upload_ends_at_the_limit(server: WebServer, client: Client) -> None:
    """S41: 413 can be read although the peer still sends."""
    token = factories.token_of(client).header
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    with server.connect() as peer:
        peer.sendall(head(server, token, "transfer-encoding: chunked"))
        sent = 0
        started = time.monotonic()
        try:
            while time.monotonic() - started < ENOUGH:
                sent += peer.send(chunk)
        except ConnectionError:
            pass

        assert sent < 16 * 1024 * 1024


def test_no_byte_of_a_body_is_asked_for_before_the_headers_are_good(
    server: WebServer,
) -> None:
    """A peer that waits for «100 Continue» is refused instead."""
    lines = ("content-length: 100", "expect: 100-continue")
    with server.connect() as peer:
        peer.sendall(head(server, "Bearer wrong", *lines))
        status, _, _ = read_answer(peer)

    assert status == 401


def test_a_body_shorter_than_announced_is_no_call(
    server: WebServer, client: Client
) -> None:
    """B014: the peer has hung up, and nothing was done."""
    token = factories.token_of(client).header
    body = call("SendMessage", {"message": MESSAGE})
    with server.connect() as peer:
        peer.sendall(with_length(server, token, body)[:-10])

    with server.connect() as peer:
        peer.sendall(with_length(server, token, call("ListTasks")))
        read_answer(peer)

    assert not Task.objects.exists()


def test_a_body_longer_than_announced_is_cut_there(
    server: WebServer, client: Client
) -> None:
    """B014: what follows is no part of the call, and no request either."""
    token = factories.token_of(client).header
    with server.connect() as peer:
        peer.sendall(with_length(server, token, call("ListTasks")) + b"x" * 5000)
        status, _, _ = read_answer(peer)

        assert status in {200, 400}
        assert _is_closed(peer)


def test_a_peer_that_hangs_up_leaves_its_task_and_no_slot(
    server: WebServer, client: Client
) -> None:
    """S46, B055."""
    token = factories.token_of(client).header
    body = call("SendMessage", {"message": MESSAGE})
    with server.connect() as peer:
        peer.sendall(with_length(server, token, body))
        _until(WaitingSlot.objects.exists)
        _until(Task.objects.exists)

    _until(lambda: not WaitingSlot.objects.exists())

    assert Task.objects.get().state == TaskState.SUBMITTED


def test_a_server_that_stops_answers_whoever_still_waits(
    server: WebServer, client: Client
) -> None:
    """The task goes on; its id is in the answer."""
    token = factories.token_of(client).header
    body = call("SendMessage", {"message": MESSAGE})
    with server.connect() as peer:
        peer.sendall(with_length(server, token, body))
        _until(Task.objects.exists)
        server.stop()
        status, _, answer = read_answer(peer)

    assert status == 504
    details = json.loads(answer)["error"]["data"][0]
    assert details["metadata"]["taskId"] == str(Task.objects.get().id)


def _until(condition: Any) -> None:
    deadline = time.monotonic() + ENOUGH
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.01)
