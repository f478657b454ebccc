from __future__ import annotations

import json
import logging
import logging.config
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from a2a_project import launch, logs
from tests import processes

if TYPE_CHECKING:
    from tests.processes import Installation

ROOT = Path(__file__).resolve().parents[2]


def _formatted(**values: Any) -> dict[str, Any]:
    record = logging.makeLogRecord(
        {"name": "a2a", "levelname": "INFO", "msg": "Hello", "created": 0.5} | values
    )
    line = logs.JSONFormatter().format(record)
    assert "\n" not in line
    line.encode()
    parsed: dict[str, Any] = json.loads(line, parse_constant=_refuse)
    return parsed


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def test_writes_one_object_a_line() -> None:
    assert _formatted(msg="two\nlines") == {
        "time": "1970-01-01T00:00:00.500+00:00",
        "level": "info",
        "logger": "a2a",
        "message": "two\nlines",
    }


def test_puts_what_was_passed_as_extra_beside_the_message() -> None:
    assert _formatted(client="caller", task=None)["client"] == "caller"


def test_keeps_the_structure_of_what_json_knows() -> None:
    line = _formatted(rows={"runs": 2}, seconds=0.5, truncated=False)

    assert (line["rows"], line["seconds"], line["truncated"]) == (
        {"runs": 2},
        0.5,
        False,
    )


def test_writes_what_json_does_not_know_as_text() -> None:
    assert _formatted(thing={1})["thing"] == "{1}"


def test_an_extra_never_replaces_a_standard_member() -> None:
    assert _formatted(level="mine")["level"] == "info"


class Textless:
    def __str__(self) -> str:
        raise RuntimeError("no text")


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)
DEEP: list[Any] = []
for _ in range(100_000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(float("nan"), id="not a number"),
        pytest.param({"a": [float("inf")]}, id="infinity inside"),
        pytest.param(10**5_000, id="more digits than Python writes"),
        pytest.param({("a", 1): 2}, id="a key that is no text"),
        pytest.param(CIRCLE, id="circular"),
        pytest.param(DEEP, id="deep"),
        pytest.param(Textless(), id="no text"),
        pytest.param([Textless()], id="no text inside"),
        pytest.param("\udc80", id="lone surrogate"),
        pytest.param(b"\xff", id="bytes"),
    ],
)
def test_an_odd_value_does_not_cost_the_line(value: object) -> None:
    line = _formatted(value=value)

    assert line["message"] == "Hello"
    assert "value" in line


@pytest.mark.parametrize(
    ("msg", "args"),
    [("%d runs", ("many",)), ("%s %s", ("one",)), ("%s", (Textless(),))],
)
def test_arguments_that_do_not_fit_do_not_cost_the_line(
    msg: str, args: tuple[object, ...]
) -> None:
    assert _formatted(msg=msg, args=args)["message"].startswith(msg)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("x" * 10_000, id="text"),
        pytest.param(["x"] * 10_000, id="list"),
        pytest.param({"a": {"b": "x" * 10_000}}, id="inside"),
        pytest.param({"x" * 10_000}, id="as text"),
    ],
)
def test_cuts_long_values(value: object) -> None:
    """S91."""
    assert len(_formatted(value=value)["value"]) == 4_000


def test_cuts_a_long_message() -> None:
    assert len(_formatted(msg="x" * 10_000)["message"]) == 4_000


def test_keeps_the_traceback_for_the_operator() -> None:
    try:
        raise ValueError("bad")
    except ValueError:
        line = _formatted(exc_info=sys.exc_info())

    assert "ValueError: bad" in line["exception"]


def test_keeps_the_end_of_a_long_traceback() -> None:
    try:
        raise ValueError("y" * 20_000 + " bad")
    except ValueError:
        line = _formatted(exc_info=sys.exc_info())

    assert len(line["exception"]) == 8_000
    assert line["exception"].endswith("y bad")


# --- uvicorn's own lines --------------------------------------------------------------


@pytest.mark.services
def test_a_web_process_writes_nothing_but_json(embedded_site: Installation) -> None:
    """S91: one parser reads every line, the server's own among them."""
    web = embedded_site.start_web()
    web.stop()

    lines = [json.loads(line) for line in web.output.splitlines()]

    messages = [line["message"] for line in lines]
    assert any(message.startswith("Uvicorn running on") for message in messages)
    assert any(message.startswith("Finished server process") for message in messages)
    assert not any("color_message" in line for line in lines)


@pytest.mark.services
def test_several_web_processes_write_nothing_but_json(
    embedded_site: Installation,
) -> None:
    """The process that watches the others loads no settings."""
    argv = (*launch.web(embedded_site.port), "--workers=2")
    web = embedded_site.start("web", argv)
    web.wait_for_line("Application startup complete")
    web.stop()

    lines = [json.loads(line) for line in web.output.splitlines()]

    assert any("parent process" in line["message"] for line in lines)


def test_what_keeps_a_web_process_from_starting_is_json(tmp_path: Path) -> None:
    argv = [*launch.web(processes.free_port()), "--app-dir", str(tmp_path)]
    argv[argv.index("a2a_project.asgi:application")] = "nowhere:application"

    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=60)

    assert done.returncode
    assert json.loads(done.stderr)["level"] == "error"
