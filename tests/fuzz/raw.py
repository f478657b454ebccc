"""Whole requests as bytes, damaged as only a socket lets one damage them."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tests.asgi_peer import Answer
from tests.fuzz import judge, mutations
from tests.fuzz.inputs import chance

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from tests.fuzz.inputs import Input, Names

    Damage = Callable[[random.Random, bytes], bytes]

# How long an answer is waited for; who sends half a request gets none so soon.
PATIENCE: Final = 0.5
# What the server itself says to what is no HTTP, before any application hears of it.
_NOT_HTTP: Final = {b"Invalid HTTP request received.", b"Request header too large."}


def make(rng: random.Random, names: Names, host: str) -> bytes:
    given = mutations.mutated(rng, names)
    # The rest of the odd hosts is for the inputs that need no socket.
    kept = tuple(row for row in given.headers if row[0].lower() != b"host")
    given = replace(given, headers=((b"host", host.encode()), *kept))
    data = to_bytes(given, with_length=not chance(rng, 12))
    for damage in rng.choices(_DAMAGES, k=rng.choice([0, 0, 1, 1, 2])):
        data = damage(rng, data)
    return data


def to_bytes(given: Input, *, with_length: bool = True) -> bytes:
    target = given.path.encode("utf-8", "surrogatepass")
    if given.query:
        target += b"?" + given.query
    lines = [given.method.encode() + b" " + target + b" HTTP/1.1"]
    lines += [name + b": " + value for name, value in given.headers]
    if with_length and not given.header(b"content-length"):
        lines.append(b"content-length: %d" % len(given.body))
    return b"\r\n".join([*lines, b"", given.body])


# --- Damages --------------------------------------------------------------------------


def _head_end(data: bytes) -> int:
    found = data.find(b"\r\n\r\n")
    return found if found > 0 else len(data)


def flip(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 3])):
        changed[rng.randrange(max(_head_end(data), 1))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def cut(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(1, len(data) + 1)]


_ODD: Final = [
    b"\r",
    b"\n",
    b"\r\n",
    b"\r\n\r\n",
    b"\x00",
    b"\xff",
    b":",
    b" ",
    b"\t",
    b"\r\n x",
    b"\x7f",
    b"\r\nContent-Length: 0",
    b"\r\nContent-Length: 5\r\nContent-Length: 7",
    b"\r\nTransfer-Encoding: chunked",
    b"\r\nTransfer-Encoding: xchunked",
    b"\r\nExpect: 100-continue",
    b"\r\nConnection: close",
    b"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x",
    b"\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c",
]


def insert(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(_head_end(data) + 1)
    return data[:at] + rng.choice(_ODD) + data[at:]


def add_line(rng: random.Random, data: bytes) -> bytes:
    at = _head_end(data)
    return data[:at] + rng.choice(_ODD[11:]) + data[at:]


def chunk(rng: random.Random, data: bytes) -> bytes:
    """The body in chunks, right or wrong."""
    at = _head_end(data)
    head, body = (
        re.sub(rb"(?i)content-length:[^\r]*\r\n", b"", data[:at]),
        data[at + 4 :],
    )
    sizes = [
        b"%x" % len(body),
        b"%X;a=b" % len(body),
        b"-1",
        b"fffffffffffffffff",
        b"g",
    ]
    size = rng.choice([*sizes[:1] * 4, *sizes])
    end = rng.choice([b"\r\n0\r\n\r\n"] * 3 + [b"\r\n0\r\nx: y\r\n\r\n", b"0\r\n", b""])
    line = b"\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + line + size + b"\r\n" + body + end


def change_version(rng: random.Random, data: bytes) -> bytes:
    odd = [b"HTTP/1.0", b"HTTP/2.0", b"HTTP/0.9", b"http/1.1", b"HTTP/1.1 ", b""]
    return data.replace(b"HTTP/1.1", rng.choice(odd), 1)


def change_target(rng: random.Random, data: bytes) -> bytes:
    odd = [
        b" http://127.0.0.1/a2a ",
        b" * ",
        b" /a2a#x ",
        b" /%61%32a ",
        b" /a2a%00 ",
        b" /a2a%ff ",
        b" /a2a/%2e%2e/admin/ ",
        b" a2a ",
        b" //a2a ",
        b" /" + b"x" * 70_000 + b" ",
        b"  /a2a  ",
    ]
    return re.sub(rb" /a2a ", lambda _: rng.choice(odd), data, count=1)


def swell(rng: random.Random, data: bytes) -> bytes:
    """More header than anybody needs."""
    at = _head_end(data)
    lines = [b"\r\nx: y" * 120, b"\r\nx: " + b"y" * 70_000, b"\r\n" + b"x" * 70_000]
    return data[:at] + rng.choice(lines) + data[at:]


def bare_lines(rng: random.Random, data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n")


def repeat(rng: random.Random, data: bytes) -> bytes:
    return data * rng.choice([2, 2, 5])


def precede(rng: random.Random, data: bytes) -> bytes:
    odd = [
        b"\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n",
        b"GET /a2a/.well-known/agent-card.json HTTP/1.1\r\nhost: x\r\n\r\n",
    ]
    return rng.choice(odd) + data


_DAMAGES: Final[list[Damage]] = [
    *[flip] * 4,
    cut,
    *[insert] * 4,
    *[add_line] * 2,
    *[chunk] * 3,
    change_version,
    *[change_target] * 2,
    swell,
    bare_lines,
    repeat,
    precede,
]


# --- Asking ---------------------------------------------------------------------------


async def ask(port: int, data: bytes) -> str:
    """Send the bytes, read one answer if there is one, and say how it ended."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    try:
        writer.write(data)
        async with asyncio.timeout(PATIENCE):
            head = await reader.readuntil(b"\r\n\r\n")
            while head.startswith(b"HTTP/1.1 100 "):
                head = await reader.readuntil(b"\r\n\r\n")
            return judge_answer(await _read(reader, head, data))
    except TimeoutError:
        return "no answer yet"
    except (asyncio.IncompleteReadError, ConnectionError) as error:
        partial = getattr(error, "partial", b"")
        assert partial == b"", partial
        return "closed without an answer"
    finally:
        writer.transport.abort()


async def _read(reader: asyncio.StreamReader, head: bytes, data: bytes) -> Answer:
    line, *rest = head.decode("latin-1").split("\r\n")[:-2]
    assert re.fullmatch(r"HTTP/1\.1 \d{3} ?[A-Za-z -]*", line), line
    rows = [row.partition(": ") for row in rest]
    headers = {name.lower(): value for name, _, value in rows}
    status = int(line.split()[1])
    body = b""
    # How it was asked is not always clear; only HEAD is answered without the body.
    is_head = re.match(rb"\s*HEAD ", data) is not None
    if "content-length" in headers and not is_head and status != 304:
        body = await reader.readexactly(int(headers["content-length"]))
    if is_head:
        headers["content-length"] = "0"
    return Answer(status=status, headers=headers, body=body)


def judge_answer(answer: Answer) -> str:
    if not judge.is_ours(answer):
        if answer.body in _NOT_HTTP:
            assert answer.status == 400
            return "400 not HTTP"
        return judge.judge_elsewhere(answer)
    if not answer.body:
        assert answer.status in {200, 304, 405}
        return f"{answer.status} without a body"
    if "etag" in answer.headers:
        return f"{answer.status} card"
    words, _ = judge.judge_reply(answer)
    return words
