from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from a2a_project import children, local, run
from a2a_project.local import Place
from a2a_server.demo import Demo
from tests import conftest, processes

if TYPE_CHECKING:
    from collections.abc import Iterator

DEMO = Demo(
    base_url="http://127.0.0.1:8000/a2a",
    card_url="http://127.0.0.1:8000/a2a/.well-known/agent-card.json",
    token="a2a_token",
    skill_ids=("summary", "text-check"),
    admin_url="http://127.0.0.1:8000/admin/",
    admin_user="admin",
    admin_password="secret",
)
USUAL = Place(folder=Path("var").resolve())
ELSEWHERE = Place(folder=Path("/my data"), host="127.0.0.2")


# --- Ports ----------------------------------------------------------------------------


async def test_says_that_a_port_is_taken() -> None:
    server = await asyncio.start_server(lambda *_: None, ELSEWHERE.host, 0)
    port = server.sockets[0].getsockname()[1]

    async with server:
        with pytest.raises(local.RunError, match=f"Port {port} cannot be used"):
            await run.check_port(dataclasses.replace(ELSEWHERE, port=port))
        await run.check_port(Place(folder=ELSEWHERE.folder, port=port))


async def test_says_how_a_machine_gets_the_address() -> None:
    """Only Linux has all of 127.0.0.0/8; here an address that no machine has."""
    place = Place(folder=ELSEWHERE.folder, host="192.0.2.1", port=8001)

    with pytest.raises(local.RunError, match=r"ifconfig lo0 alias 192\.0\.2\.1$"):
        await run.check_port(place)


@pytest.mark.allow_hosts(["127.0.0.2"])
async def test_reads_the_status_of_an_answer() -> None:
    async def answer(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, ELSEWHERE.host, 0)
    port = server.sockets[0].getsockname()[1]

    async with server:
        status = await run.get_status(dataclasses.replace(ELSEWHERE, port=port), "/")

    assert status == 204


async def test_takes_silence_for_no_answer() -> None:
    place = Place(folder=ELSEWHERE.folder, port=processes.free_port())

    assert await run.get_status(place, "/") == 0


# --- Words ----------------------------------------------------------------------------


def test_prints_a_curl_line_that_a_shell_reads_as_one_command() -> None:
    line = run.curl_line(DEMO, "article", run.ARTICLE)

    words = shlex.split(line.replace("$(date +%s)", "1"))
    assert words[:3] == ["curl", "-sS", "http://127.0.0.1:8000/a2a"]
    assert words[-2] == "-d"
    [part] = json.loads(words[-1])["params"]["message"]["parts"]
    assert part["text"].startswith("The bridge is open\nThe new bridge")


def test_prints_a_line_for_every_skill_that_is_told_of() -> None:
    """O1."""
    drafting = dataclasses.replace(DEMO, skill_ids=(*DEMO.skill_ids, "article"))

    lines = [_curls(run.banner(demo, USUAL)) for demo in (DEMO, drafting)]

    assert [len(each) for each in lines] == [1, 2]
    assert '"article"' in lines[1][1]


def test_tells_everything_one_needs() -> None:
    text = run.banner(DEMO, ELSEWHERE)

    for part in (
        DEMO.admin_url,
        "admin / secret",
        DEMO.card_url,
        DEMO.token,
        "/my data",
    ):
        assert part in text


def test_tells_how_a_client_of_ones_own_gets_its_token() -> None:
    """O1, S20."""
    elsewhere = run.banner(DEMO, ELSEWHERE)
    usual = run.banner(DEMO, USUAL)

    command, options = (
        "ARGS=a2a_client_token NAME",
        ("HOST=127.0.0.2", "DATA_DIR=/my data"),
    )
    assert ["make", "manage", *options, command] in _split(elsewhere)
    assert ["make", "manage", command] in _split(usual)


def test_says_what_it_means_that_agents_on_loopback_may_be_called() -> None:
    """E4."""
    place = dataclasses.replace(USUAL, calls_loopback=True)

    (line,) = (li for li in run.banner(DEMO, place).splitlines() if "Mind" in li)
    usual = run.banner(DEMO, USUAL)

    assert "runs may call agents" in line
    assert "DEBUG" in run.banner(DEMO, place)
    assert "DEBUG" not in usual
    assert "Mind" not in usual


def test_tells_that_the_token_is_another_than_last_time() -> None:
    replaced = dataclasses.replace(DEMO, is_token_replaced=True)

    assert "token was changed meanwhile" in run.banner(replaced, USUAL)
    assert "token was changed meanwhile" not in run.banner(DEMO, USUAL)


def _curls(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("curl ")]


def _split(text: str) -> list[list[str]]:
    """The words of the lines for `make`."""
    return [shlex.split(line) for line in text.splitlines() if line.startswith("make ")]


# --- The whole ------------------------------------------------------------------------


def _start_runner(tmp_path: Path, port: int) -> processes.Process:
    argv = (sys.executable, "-m", "a2a_project.run", f"--port={port}")
    return processes.Process(
        "run",
        (*argv, f"--data-dir={tmp_path / 'var'}"),
        {"PATH": os.environ["PATH"], "PYTHONUNBUFFERED": "1"},
        tmp_path / "run.log",
    )


@pytest.fixture
def port() -> int:
    return processes.free_port()


@pytest.fixture
def runner(tmp_path: Path, port: int) -> Iterator[processes.Process]:
    process = _start_runner(tmp_path, port)
    yield process
    process.stop()


def test_serves_until_it_is_told_to_stop_and_goes_on_next_time(
    runner: processes.Process, tmp_path: Path, port: int
) -> None:
    """O1: the printed lines, pasted into a shell, bring back a finished task and one
    that asks.

    Account, token and task are there in the next run too.
    """
    if not shutil.which("curl"):
        conftest.missing_service("curl is not installed.")
    kept = tmp_path / "var" / "demo.json"

    line = runner.wait_for_line("^curl ", seconds=90)
    first = kept.read_text()
    article = runner.wait_for_line("^curl .*article", seconds=10)
    answers = [_paste(line), _paste(line.replace(local.USUAL_HOST, "localhost"))]
    asked = _paste(article)
    assert runner.stop() == 0
    assert _heartbeats(tmp_path) == 0
    assert "Warning" not in (tmp_path / "var" / "web.log").read_text()

    again = _start_runner(tmp_path, port)
    answers.append(_paste(again.wait_for_line("^curl ", seconds=90)))
    assert again.stop() == 0

    assert all('"TASK_STATE_COMPLETED"' in answer for answer in answers)
    assert '"TASK_STATE_INPUT_REQUIRED"' in asked
    assert "For which section?" in asked
    assert kept.read_text() == first


def _heartbeats(tmp_path: Path) -> int:
    database = sqlite3.connect(tmp_path / "var" / local.DATABASE)
    with contextlib.closing(database):
        query = "SELECT count(*) FROM agent_runs_workerheartbeat"
        count: int = database.execute(query).fetchone()[0]
        return count


def test_refuses_a_folder_that_is_served_before_it_touches_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with local.locked(Place(folder=tmp_path, port=8123)):
        code = run.main([f"--port={processes.free_port()}", f"--data-dir={tmp_path}"])

    assert code == 1
    assert f"{tmp_path} is in use" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["lock"]


def _paste(line: str) -> str:
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize(
    ("number", "is_urgent"),
    [
        # make passes on what its process group had already.
        (signal.SIGTERM, False),
        (signal.SIGHUP, False),
        # Whoever presses Ctrl-C again means it.
        (signal.SIGINT, True),
    ],
)
async def test_only_a_second_ctrl_c_hurries(number: int, is_urgent: bool) -> None:
    told, hurry = run.listen_to_signals()

    signal.raise_signal(signal.SIGTERM)
    await told.wait()
    signal.raise_signal(number)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(hurry.wait(), 0.2)

    assert hurry.is_set() is is_urgent


async def test_does_not_go_on_when_a_process_ends_by_itself(tmp_path: Path) -> None:
    argv = (sys.executable, "-c", "raise SystemExit('no such module')")
    child = await children.start("web", argv, tmp_path, dict(os.environ))

    with pytest.raises(local.RunError, match=r"web process ended.*\n.*no such module"):
        await run.watch([child], asyncio.Event(), asyncio.sleep(60), pytest.fail)


async def test_ends_quietly_when_it_is_told_to(tmp_path: Path) -> None:
    told = asyncio.Event()

    code = await run.watch([], told, asyncio.sleep(0), told.set)

    assert code == 0
