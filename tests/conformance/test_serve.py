"""The stand as a kit's user starts it: another program, in the foreground."""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conformance.tokens import is_token, make_token
from tests.peer import Peer, task_of, text_of
from tests.processes import Process, free_port, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Start = Callable[..., Process]

_KEPT = ("PATH", "HOME", "TMPDIR", "TEST_DATABASE_URL", "TEST_REDIS_URL")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """The stand with these options; what still runs after a test is stopped."""
    started: list[Process] = []

    def start(*options: str) -> Process:
        argv = [sys.executable, "-m", "tests.conformance.serve", *options]
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
        # What a stand leaves behind would be found here.
        environment["TMPDIR"] = str(tmp_path / "temporary")
        (tmp_path / "temporary").mkdir(exist_ok=True)
        log = tmp_path / f"{len(started)}.log"
        started.append(Process("stand", argv, environment, log))
        return started[-1]

    yield start

    for process in started:
        process.stop()


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def test_serves_until_it_is_told_to_stop_and_leaves_nothing(
    start: Start, tmp_path: Path
) -> None:
    token, port = make_token(), free_port()
    stand = start("--port", str(port), "--token", token)
    base_url = stand.wait_for_line("^http://").strip()
    stand.wait_for_line("^a2a_")
    with Peer(base_url, token) as peer:
        task = task_of(peer.send("echo it serves", wait=True))

    exit_code = stand.stop()

    assert text_of(task) == "it serves"
    assert stand.output == f"{base_url}\n{token}\n"
    assert (exit_code, _is_free(port)) == (0, True)
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.services
def test_stops_while_it_starts(start: Start, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    stand = start("--port", str(free_port()))
    wait_until(
        lambda: list(temporary.glob("a2a-conformance-*/*.log")), what="a process"
    )

    assert stand.stop() == 0
    assert list(temporary.iterdir()) == []


@pytest.mark.services
def test_stops_in_a_terminal_while_it_starts(start: Start, tmp_path: Path) -> None:
    """Ctrl-C reaches everything that it has started in its own session as well."""
    stand = start("--port", str(free_port()))
    children = Path(f"/proc/{stand.pid}/task/{stand.pid}/children")
    wait_until(children.read_text, what="a process")

    os.killpg(stand.pid, signal.SIGINT)

    assert stand.wait() == 0
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.services
def test_says_that_one_of_its_processes_ended(start: Start) -> None:
    stand = start("--port", str(free_port()))
    token = stand.wait_for_line("^a2a_").strip()
    children = Path(f"/proc/{stand.pid}/task/{stand.pid}/children").read_text()
    os.kill(int(children.split()[0]), signal.SIGTERM)

    exit_code = stand.wait()

    assert (exit_code, is_token(token)) == (1, True)
    assert "web-0 ended:" in stand.output


def test_says_that_the_port_is_taken(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        stand = start("--port", str(port))
        exit_code = stand.wait()

    sentence = f"Port {port} is taken. Name another one with PORT=….\n"
    assert (exit_code, stand.output) == (1, sentence)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        pytest.param(("--token", "secret"), "base64url", id="token"),
        pytest.param(("--port", "80000"), "not a port", id="port"),
        pytest.param(("--profile", "most"), "invalid choice", id="profile"),
        pytest.param(("--deduplicate", "x"), "invalid choice", id="deduplicate"),
    ],
)
def test_refuses_an_option_that_it_cannot_read(
    start: Start, options: tuple[str, ...], word: str
) -> None:
    stand = start(*options)

    assert stand.wait() == 2
    assert word in stand.output
    assert "Traceback" not in stand.output


def test_a_made_token_has_the_form_of_a_token() -> None:
    """S21."""
    assert is_token(make_token())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a2a_short_" + 43 * "x",
        "a2a_" + 12 * "A" + "_" + 43 * "x",
        "a2a_" + 12 * "a" + "_" + 42 * "x",
        "a2a_" + 12 * "a" + "_" + 43 * "x" + "\n",
    ],
)
def test_nothing_else_is_a_token(text: str) -> None:
    """S21."""
    assert not is_token(text)
