"""`make bench`: prints one JSON document, with a part for each question.

`beside the SDK`: both servers in alternating rounds, by number of connections and
operation. `growth`: ours alone, with few and with many tasks of one client. What it does
meanwhile stands on standard error. BENCH_OPTIONS chooses: see `--help`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.bench import servers
from tests.bench.servers import rpc, send_params

if TYPE_CHECKING:
    from tests.bench.servers import Server

_ID = "@@@ID@@@"
TASKS_PRESENT = 10_000

Job = dict[str, Any]
Operation = Callable[["Server"], Job]


def _post(method: str, params: dict[str, Any], expect: str) -> Job:
    body = json.dumps(rpc(method, params))
    return {"method": "POST", "path": "/a2a", "body": body, "expect": expect}


def _send(server: Server, *, immediate: bool) -> Job:
    params = send_params(immediate=immediate, message_id=_ID)
    expect = '"task"' if immediate else "TASK_STATE_COMPLETED"
    return _post("SendMessage", params, expect)


OPERATIONS: dict[str, Operation] = {
    "GetTask": lambda server: _post("GetTask", {"id": server.send()}, '"status"'),
    "ListTasks": lambda server: _post("ListTasks", {"pageSize": 50}, '"tasks"'),
    "card": lambda server: {
        "method": "GET",
        "path": server.card_path,
        "body": "",
        "expect": '"skills"',
    },
    "SendMessage immediate": lambda server: _send(server, immediate=True),
    "SendMessage blocking": lambda server: _send(server, immediate=False),
}


def measure(
    pair: list[Server], *, connections: int, rounds: int, seconds: float
) -> dict[str, Any]:
    """By operation and server: the median of every figure over the rounds."""
    measured: dict[str, Any] = {}
    for name, operation in OPERATIONS.items():
        results: dict[str, list[dict[str, Any]]] = {s.name: [] for s in pair}
        for number in range(rounds + 1):
            for server in pair:
                job = operation(server) | {
                    "connections": connections,
                    "seconds": seconds if number else 1.0,
                }
                result = servers.load(server, **job)
                # The first round warms up what is made when it is first needed.
                if number:
                    results[server.name].append(result)
            _tell(f"{name} at {connections}: round {number} of {rounds}")
        measured[name] = {server: _medians(r) for server, r in results.items()}
        measured[name]["ratio"] = _ratio(measured[name])
    return measured


def _medians(results: list[dict[str, Any]]) -> dict[str, float]:
    numbers = [key for key, value in results[0].items() if isinstance(value, float)]
    return {
        key: round(statistics.median(result[key] for result in results), 3)
        for key in numbers
    }


def _ratio(measured: dict[str, Any]) -> float | None:
    if "sdk" not in measured:
        return None
    return round(measured["ours"]["per_second"] / measured["sdk"]["per_second"], 2)


def _fill(server: Server) -> None:
    """Bring a server to the number of tasks that listing is measured with."""
    # The SDK's store makes its table for the first request, and not for two at once.
    server.send()
    job = _send(server, immediate=True)
    present = 0
    while present < TASKS_PRESENT:
        result = servers.load(server, **job, connections=8, seconds=5)
        present += result["requests"]
        _tell(f"{server.name}: {present} tasks")


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def beside_the_sdk(scratch: Path, options: argparse.Namespace) -> dict[str, Any]:
    python = os.environ["A2A_SDK_PYTHON"]
    with (
        servers.ours(scratch / "ours") as (our_server, _),
        servers.sdk(scratch / "sdk", python) as sdk_server,
    ):
        pair = [our_server, sdk_server]
        for server in pair:
            _fill(server)
            if options.pin:
                server.pin_web()
        return {
            str(connections): measure(
                pair,
                connections=connections,
                rounds=options.rounds,
                seconds=options.seconds,
            )
            for connections in options.connections
        }


def growth(scratch: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Median milliseconds over one connection, by the number of one client's tasks."""
    found: dict[str, Any] = {name: {} for name in GROWING}
    with servers.ours(scratch / "growing") as (server, site):
        task_id, present = server.send(), 1
        for wanted in sorted(options.tasks):
            site.manage("bench_tasks", str(wanted - present), seconds=1800)
            present = wanted
            _tell(f"{present} tasks")
            for name, params in GROWING.items():
                job = _growing_job(name, params, task_id)
                job |= {"connections": 1, "seconds": options.seconds}
                servers.load(server, **(job | {"seconds": 1.0}))
                rounds = [servers.load(server, **job) for _ in range(options.rounds)]
                found[name][str(wanted)] = _medians(rounds)["p50_ms"]
    for by_tasks in found.values():
        milliseconds = list(by_tasks.values())
        by_tasks["ratio"] = round(milliseconds[-1] / milliseconds[0], 2)
    return found


def _growing_job(name: str, params: dict[str, Any], task_id: str) -> Job:
    method = name.partition(",")[0]
    if method == "GetTask":
        params = {"id": task_id}
    if method == "SendMessage":
        params = send_params(immediate=True, message_id=_ID)
    return _post(method, params, '"result"')


GROWING: dict[str, dict[str, Any]] = {
    "SendMessage": {},
    "GetTask": {},
    "ListTasks": {"pageSize": 50},
    "ListTasks, one state": {"pageSize": 50, "status": "TASK_STATE_COMPLETED"},
    "ListTasks, an empty context": {"contextId": "nobody's"},
}
PARTS: dict[str, Callable[[Path, argparse.Namespace], dict[str, Any]]] = {
    "beside the SDK": beside_the_sdk,
    "growth": growth,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("--part", choices=list(PARTS), action="append")
    parser.add_argument(
        "--pin", action="store_true", help="bind each web process to one core"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--tasks", type=int, nargs="+", default=[1_000, 200_000])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="a2a-bench-") as scratch:
        report = {
            part: PARTS[part](Path(scratch), options) for part in options.part or PARTS
        }
    json.dump(report, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
