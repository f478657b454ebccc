from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from a2a_project.http import BoundedHttpTools
from tests.web_server import ENOUGH, WebServer, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

QUICK = 0.3


class Quick(BoundedHttpTools):
    """The same bounds, at a test's pace."""

    head_seconds = QUICK
    stalled_seconds = QUICK


class Attentive(BoundedHttpTools):
    """Lets a test wait until the server has read so many bytes."""

    arrived = 0
    arrival = threading.Condition()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        with self.arrival:
            Attentive.arrived += len(data)
            self.arrival.notify_all()

    @classmethod
    def await_bytes(cls, count: int) -> None:
        with cls.arrival:
            assert cls.arrival.wait_for(lambda: cls.arrived >= count, ENOUGH)


class Application:
    """Answers as many bytes as the query says; counts what it was asked and cut off."""

    def __init__(self) -> None:
        self.asked = 0
        self.received = 0
        self.cut = threading.Event()
        self.begun = threading.Event()
        self.release = threading.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        self.asked += 1
        if scope["path"] == "/body":
            self.begun.set()
        await self._read(receive)
        if scope["path"] == "/hear":
            self.begun.set()
            await receive()
            self.cut.set()
        if scope["path"] == "/slow":
            self.begun.set()
            await asyncio.to_thread(self.release.wait, ENOUGH)
        size = int(scope["query_string"] or 2)
        length = [(b"content-length", str(size).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": length})
        await send({"type": "http.response.body", "body": b"x" * size})
        if size > 2:
            await receive()
            self.cut.set()

    async def _read(self, receive: Any) -> None:
        more = True
        while more:
            message = await receive()
            self.received += len(message.get("body", b""))
            more = message.get("more_body", False)


@pytest.fixture(autouse=True)
def _nothing_has_arrived() -> None:
    Attentive.arrived = 0


@pytest.fixture
def application() -> Iterator[Application]:
    application = Application()
    yield application
    application.release.set()


def exchange(server: WebServer, *pieces: bytes) -> bytes:
    """Everything that comes back until the server closes, or has answered."""
    with server.connect() as peer:
        for piece in pieces:
            with contextlib.suppress(ConnectionError):
                peer.sendall(piece)
        return read(peer)


def read(peer: socket.socket) -> bytes:
    answer = b""
    with contextlib.suppress(ConnectionError):
        while data := peer.recv(65536):
            answer += data
            if answer.endswith(b"\r\n\r\nxx"):
                break
    return answer


GET = b"GET / HTTP/1.1\r\nhost: h\r\n\r\n"


def test_answers_an_ordinary_request(application: Application) -> None:
    with serving(application) as server:
        assert exchange(server, GET).startswith(b"HTTP/1.1 200")


def test_answers_several_requests_on_one_connection(application: Application) -> None:
    """The bounds are those of one request, and begin anew with the next."""
    padding = b"x-padding: " + b"p" * 40_000 + b"\r\n"
    request = b"GET / HTTP/1.1\r\nhost: h\r\n" + padding + b"\r\n"

    with serving(application, Quick) as server, server.connect() as peer:
        for _ in range(3):
            peer.sendall(request)
            assert read(peer).startswith(b"HTTP/1.1 200")

        assert application.asked == 3


def test_takes_a_large_body_in_one_piece_with_its_head(
    application: Application,
) -> None:
    """Only the head is bounded here."""
    head = b"POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 200000\r\n\r\n"

    with serving(application) as server:
        assert exchange(server, head + b"b" * 200_000).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "pieces",
    [
        [b"GET / HTTP/1.1\r\nx: " + b"y" * 70_000 + b"\r\n\r\n"],
        [b"GET / HTTP/1.1\r\nx: ", *[b"y" * 10_000] * 8],
        [b"GET / HTTP/1.1\r\n", *[b"a: b\r\n"] * 200, b"\r\n"],
        [b"GET /" + b"y" * 70_000 + b" HTTP/1.1\r\n\r\n"],
        [b"GET / HTTP/1.1\r\n", b"y" * 70_000],
    ],
    ids=["one header", "endless header", "many headers", "address", "endless name"],
)
def test_refuses_a_head_over_the_bounds(
    application: Application, pieces: list[bytes]
) -> None:
    """Without them one connection made a process hold 127 MiB."""
    with serving(application) as server:
        started = time.monotonic()
        answer = exchange(server, *pieces)

        assert answer == b"" or answer.startswith(b"HTTP/1.1 400")
        assert application.asked == 0
        # At the bound, and not only at the deadline.
        assert time.monotonic() - started < BoundedHttpTools.head_seconds / 2


def test_refuses_endless_trailers(application: Application) -> None:
    """What follows a chunked body is parsed as headers too."""
    head = b"POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n0\r\n"

    with serving(application) as server:
        started = time.monotonic()
        exchange(server, head, *[b"a: b\r\n"] * 200, b"\r\n")

        assert time.monotonic() - started < ENOUGH


@pytest.mark.parametrize(
    "piece",
    [b"", b"GET / HTTP/1.1\r\nhost: h\r\n", b"\r\n"],
    ids=["silence", "half a head", "a blank line"],
)
def test_closes_on_a_peer_that_sends_no_whole_head(
    application: Application, piece: bytes
) -> None:
    with serving(application, Quick) as server:
        started = time.monotonic()

        assert exchange(server, piece) == b""

        assert QUICK * 0.8 <= time.monotonic() - started < ENOUGH


def test_closes_on_a_peer_that_drips_its_head(application: Application) -> None:
    """The deadline is for the whole head and not for each line."""
    with serving(application, Quick) as server, server.connect() as peer:
        peer.sendall(b"GET / HTTP/1.1\r\n")

        assert _drip_until_closed(peer, b"a: b\r\n")
        assert application.asked == 0


def _drip_until_closed(peer: socket.socket, drop: bytes) -> bool:
    peer.settimeout(QUICK / 10)
    started = time.monotonic()
    while time.monotonic() - started < ENOUGH:
        with contextlib.suppress(TimeoutError):
            try:
                peer.sendall(drop)
                if peer.recv(1) == b"":
                    return True
            except ConnectionError:
                return True
    return False


def test_closes_on_blank_lines_between_two_requests(application: Application) -> None:
    """They make no request, but keep the server's own timer from closing."""
    with serving(application, Quick) as server, server.connect() as peer:
        peer.sendall(GET)
        read(peer)

        assert _drip_until_closed(peer, b"\r\n")


def test_a_long_answer_outlives_the_deadline_of_the_next_head(
    application: Application,
) -> None:
    """A peer may send half of its next request while it waits for this answer."""
    with serving(application, Quick) as server, server.connect() as peer:
        peer.sendall(b"GET /slow HTTP/1.1\r\nhost: h\r\n\r\n")
        assert application.begun.wait(ENOUGH)
        peer.sendall(b"GET /")
        _hear_nothing(peer, QUICK * 3)
        application.release.set()

        assert read(peer).startswith(b"HTTP/1.1 200")


def _hear_nothing(peer: socket.socket, seconds: float) -> None:
    peer.settimeout(seconds)
    with pytest.raises(TimeoutError):
        peer.recv(1)
    peer.settimeout(ENOUGH)


def test_aborts_the_connection_of_a_peer_that_stops_reading(
    application: Application,
) -> None:
    """Otherwise its buffer and its view would stay for ever."""
    with serving(application, Quick) as server, server.connect() as peer:
        peer.sendall(b"GET /?50000000 HTTP/1.1\r\nhost: h\r\n\r\n")

        assert application.cut.wait(ENOUGH)


def test_a_slow_reader_gets_everything_and_keeps_its_connection(
    application: Application,
) -> None:
    size = 20_000_000
    with serving(application, Quick) as server, server.connect() as peer:
        peer.sendall(b"GET /?%d HTTP/1.1\r\nhost: h\r\n\r\n" % size)
        received = 0
        while b"\r\n\r\n" not in (top := peer.recv(262_144, socket.MSG_PEEK)):
            continue
        size += top.index(b"\r\n\r\n") + 4
        while received < size:
            data = peer.recv(262_144)
            assert data, f"the server gave up after {received} bytes"
            received += len(data)
            time.sleep(QUICK / 15)  # slow is what this reader is
        _hear_nothing(peer, QUICK * 3)
        peer.sendall(GET)

        assert read(peer).startswith(b"HTTP/1.1 200")


# --- Bodies and requests behind one another -------------------------------------------


@pytest.mark.parametrize("pieces", [1, 7])
@pytest.mark.parametrize("kibibytes", [10, 66, 80, 100, 200, 500, 900])
def test_takes_a_body_that_follows_its_head(
    application: Application, kibibytes: int, pieces: int
) -> None:
    """A body's last bytes are no head, however many come in one read."""
    size = kibibytes * 1024
    head = b"POST /body HTTP/1.1\r\nhost: h\r\ncontent-length: %d\r\n\r\n" % size
    with serving(application) as server, server.connect() as peer:
        peer.sendall(head)
        assert application.begun.wait(ENOUGH)

        for number in range(pieces):
            end = size * (number + 1) // pieces
            peer.sendall(b"b" * (end - size * number // pieces))

        assert read(peer).startswith(b"HTTP/1.1 200")
        assert application.received == size
        peer.sendall(GET)
        assert read(peer).startswith(b"HTTP/1.1 200")


def test_bounds_the_head_that_follows_a_body(application: Application) -> None:
    body = b"POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\n\r\nbb"

    with serving(application) as server, server.connect() as peer:
        peer.sendall(body + b"GET /")
        assert read(peer).startswith(b"HTTP/1.1 200")
        started = time.monotonic()
        with contextlib.suppress(ConnectionError):
            for _ in range(100):
                peer.sendall(b"y" * 10_000)
        read(peer)

        assert application.asked == 1
        assert time.monotonic() - started < BoundedHttpTools.head_seconds / 2


POST = b"POST /?4 HTTP/1.1\r\nhost: h\r\ncontent-length: 9000\r\n\r\n" + b"b" * 9000
SEVERAL = [b"GET /?3 HTTP/1.1\r\nhost: h\r\n\r\n", POST, POST, GET]


@pytest.mark.parametrize(
    "pieces",
    [
        [b"".join(SEVERAL)],
        SEVERAL,
        [piece for each in SEVERAL for piece in (each[:20], each[20:])],
    ],
    ids=["one piece", "one each", "halves"],
)
@pytest.mark.parametrize("first", [b"GET /slow", b"GET /"], ids=["slow", "quick"])
def test_answers_in_order_what_was_sent_ahead(
    application: Application, first: bytes, pieces: list[bytes]
) -> None:
    with serving(application) as server, server.connect() as peer:
        peer.sendall(first + b"?1 HTTP/1.1\r\nhost: h\r\n\r\n")
        for piece in pieces:
            peer.sendall(piece)
            application.release.set()

        answers = read(peer).split(b"HTTP/1.1 200 OK\r\n")

    assert [answer.count(b"x") for answer in answers] == [0, 1, 3, 4, 4, 2]


def test_keeps_a_bounded_part_of_what_is_sent_ahead(application: Application) -> None:
    """The answer that is due goes out; the rest has to be sent again."""
    with serving(application, Attentive) as server, server.connect() as peer:
        peer.sendall(SLOW)
        assert application.begun.wait(ENOUGH)
        peer.sendall(POST * 50)
        Attentive.await_bytes(len(POST) * 50)
        application.release.set()

        answer = read(peer)

    assert answer.startswith(b"HTTP/1.1 200")
    assert b"connection: close" in answer
    assert application.asked == 1


SLOW = b"GET /slow HTTP/1.1\r\nhost: h\r\n\r\n"
HEAR = b"GET /hear HTTP/1.1\r\nhost: h\r\n\r\n"
_AHEAD = [
    (b"", b""),
    (GET, b""),
    (b"", GET * 3),
    (b"GET", b" /"),
    (POST[:-1], b""),
    (b"", b"b" * 200_000),
    (b"\xff\r\n", b"\xff\r\n"),
]


@pytest.mark.parametrize(
    ("at_once", "later"),
    _AHEAD,
    ids=["none", "one", "several", "half a head", "half a body", "much", "no HTTP"],
)
@pytest.mark.parametrize("is_reset", [False, True], ids=["FIN", "RST"])
def test_a_request_hears_that_its_peer_has_gone(
    application: Application, at_once: bytes, later: bytes, is_reset: bool
) -> None:
    """S46: also where the peer has already sent more."""
    with serving(application, Attentive) as server, server.connect() as peer:
        peer.sendall(HEAR + at_once)
        assert application.begun.wait(ENOUGH)
        peer.sendall(later)
        Attentive.await_bytes(len(HEAR + at_once + later))

        if is_reset:
            peer.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
        peer.close()

        assert application.cut.wait(ENOUGH)


_NO_HTTP = [
    b"\xff\xff\r\n\r\n",
    b"no method at all\r\n\r\n",
    b"GET / HTTP/1.1\r\nx: " + b"y" * 70_000,
    b"POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\nno number\r\n",
]


@pytest.mark.parametrize("is_at_once", [False, True], ids=["later", "at once"])
@pytest.mark.parametrize(
    "rest", _NO_HTTP, ids=["bytes", "words", "endless head", "wrong chunk"]
)
def test_a_good_request_is_answered_whatever_follows_it(
    application: Application,
    caplog: pytest.LogCaptureFixture,
    rest: bytes,
    is_at_once: bool,
) -> None:
    """A refusal of what follows would be taken for its answer."""
    with serving(application, Attentive) as server, server.connect() as peer:
        peer.sendall(SLOW + rest if is_at_once else SLOW)
        assert application.begun.wait(ENOUGH)
        if not is_at_once:
            peer.sendall(rest)
        Attentive.await_bytes(len(SLOW + rest))
        application.release.set()

        answer = read(peer)
        following = read(peer)

    assert answer.startswith(b"HTTP/1.1 200")
    assert following == b"" or following.startswith(b"HTTP/1.1 400")
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize("is_at_once", [False, True], ids=["later", "at once"])
def test_refuses_a_body_that_is_no_http(
    application: Application, is_at_once: bool
) -> None:
    head = b"POST /body HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n"
    body = b"no number\r\n"

    with serving(application) as server, server.connect() as peer:
        peer.sendall(head + body if is_at_once else head)
        assert application.begun.wait(ENOUGH)
        if not is_at_once:
            peer.sendall(body)

        assert read(peer).startswith(b"HTTP/1.1 400")


def test_the_shipped_bounds() -> None:
    """SECURITY.md names them."""
    assert BoundedHttpTools.max_head_bytes == 65_536
    assert BoundedHttpTools.max_headers == 100
    assert BoundedHttpTools.head_seconds == 10
    assert BoundedHttpTools.stalled_seconds == 30
    assert BoundedHttpTools.max_ahead_bytes == 65_536
