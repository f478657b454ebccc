from __future__ import annotations

import io
import logging
import re
import subprocess
import sys
from typing import TYPE_CHECKING, NoReturn

import pytest
from django.core.management import CommandError, call_command, execute_from_command_line
from django.db import OperationalError, connection

from a2a_server.models import Client
from agent_runs.management.command import ExitError
from tests import factories

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> tuple[str, str]:
    stdout, stderr = io.StringIO(), io.StringIO()
    call_command("a2a_client_token", *arguments, stdout=stdout, stderr=stderr)
    return stdout.getvalue(), stderr.getvalue()


def test_prints_the_token_and_nothing_else() -> None:
    """S20."""
    client = factories.make_client("reporting", token=factories.Token(1))

    stdout, stderr = run("reporting")

    assert re.fullmatch(r"a2a_[a-z0-9]{12}_[A-Za-z0-9_-]{43}\n", stdout)
    assert stderr == ""
    client.refresh_from_db()
    assert client.token_prefix == stdout[4:16]


def test_finds_a_client_by_its_id() -> None:
    client = factories.make_client()

    stdout, _ = run(str(client.id))

    client.refresh_from_db()
    assert client.token_prefix == stdout[4:16]


def test_revokes() -> None:
    client = factories.make_client("reporting")

    stdout, stderr = run("reporting", "--revoke")

    client.refresh_from_db()
    assert client.token_hash == ""
    assert stdout == ""
    assert "reporting" in stderr


@pytest.mark.parametrize("text", ["nobody", "999999", "9" * 40, "", "٣"])
def test_says_that_there_is_no_such_client(text: str) -> None:
    with pytest.raises(CommandError) as caught:
        run(text)

    assert caught.value.returncode == 1


def test_keeps_the_old_token_when_the_client_is_not_found() -> None:
    client = factories.make_client("reporting")

    with pytest.raises(CommandError):
        run("report")

    assert Client.objects.get(id=client.id).token_hash == client.token_hash


def test_logs_who_did_it(caplog: pytest.LogCaptureFixture) -> None:
    """S20: client, prefix and OS user; never the token."""
    caplog.set_level(logging.INFO)
    factories.make_client("reporting")

    stdout, _ = run("reporting")

    (record,) = [r for r in caplog.records if r.message == "Token issued"]
    assert vars(record)["client"] == "reporting"
    assert vars(record)["by"]
    assert stdout.strip() not in caplog.text


def _refuse(*_: object) -> NoReturn:
    raise OperationalError("the database is away")


@pytest.mark.parametrize("more", [[], ["--revoke"]], ids=["issue", "revoke"])
def test_a_store_error_is_told_without_its_words(more: list[str]) -> None:
    """W8: exit code 1 and no traceback."""
    with (
        connection.execute_wrapper(_refuse),
        pytest.raises(ExitError, match=r"^The database cannot be used\.$") as raised,
    ):
        run("reporting", *more)

    assert raised.value.returncode == 1


@pytest.mark.parametrize(
    "arguments", [[], ["a", "b"], ["a", "--nonsense"]], ids=["none", "two", "unknown"]
)
def test_bad_options_end_with_2_when_called_in_code(arguments: list[str]) -> None:
    """W8."""
    with pytest.raises(SystemExit) as ended:
        run(*arguments)

    assert ended.value.code == 2


def test_a_failure_is_one_sentence_on_stderr(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """W8."""
    with pytest.raises(SystemExit) as ended:
        execute_from_command_line(["manage.py", "a2a_client_token", "nobody"])

    assert ended.value.code == 1
    assert capsys.readouterr() == ("", "There is no client «nobody».\n")


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["a", "--nonsense"]])
def test_bad_options_end_with_2(arguments: list[str], tmp_path: Path) -> None:
    """W8."""
    ended = subprocess.run(
        [sys.executable, "manage.py", "a2a_client_token", *arguments],
        capture_output=True,
        check=False,
        timeout=60,
    )

    assert ended.returncode == 2
    assert ended.stdout == b""
    assert b"usage" in ended.stderr
