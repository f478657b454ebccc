"""Asks a server the same thing over several connections and measures every answer.

    python -m tests.bench.load < JOB

reads one JSON job and prints one JSON result. A program of its own, so that its work is
not counted to a server, and so small that it costs little beside one: the requests are
bytes made beforehand, and of an answer only status and length are read.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

_MARK = b"@@@ID@@@"


@dataclass(slots=True, kw_only=True)
class Job:
    """`body` may hold a mark in whose place every request gets an id of its own."""

    port: int
    method: str
    path: str
    headers: dict[str, str]
    body: str
    connections: int
    seconds: float
    expect: str

    def request(self) -> bytes:
        body = self.body.encode()
        length = len(body) + (36 - len(_MARK)) * body.count(_MARK)
        lines = [f"{self.method} {self.path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        if body:
            lines.append(f"Content-Length: {length}")
        return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass(slots=True)
class Tally:
    latencies: list[float] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)


async def run(job: Job) -> dict[str, Any]:
    tally, ends = Tally(), time.monotonic() + job.seconds
    began = time.monotonic()
    await asyncio.gather(*(_ask(job, ends, tally) for _ in range(job.connections)))
    elapsed = time.monotonic() - began
    return {
        "requests": len(tally.latencies),
        "per_second": len(tally.latencies) / elapsed,
        **_percentiles(sorted(tally.latencies)),
        "unexpected": tally.unexpected[:3],
        "unexpected_count": len(tally.unexpected),
    }


def _percentiles(latencies: list[float]) -> dict[str, float]:
    if not latencies:
        return {}
    last = len(latencies) - 1
    return {
        f"p{percent}_ms": round(latencies[last * percent // 100] * 1000, 3)
        for percent in (50, 95, 99)
    }


async def _ask(job: Job, ends: float, tally: Tally) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", job.port)
    request, expected = job.request(), job.expect.encode()
    while time.monotonic() < ends:
        one = request.replace(_MARK, str(uuid.uuid4()).encode())
        began = time.perf_counter()
        writer.write(one)
        status, body = await _read_answer(reader)
        tally.latencies.append(time.perf_counter() - began)
        if status != 200 or expected not in body:
            tally.unexpected.append(f"{status} {body[:200].decode(errors='replace')}")
    writer.close()


async def _read_answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return int(head[9:12]), await reader.readexactly(length)


if __name__ == "__main__":
    job = Job(**json.load(sys.stdin))
    json.dump(asyncio.run(run(job)), sys.stdout)
