from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest

from a2a_client.models import RemoteAgent
from tests import factories
from tests.a2a_client.management.commands import run

if TYPE_CHECKING:
    from tests.a2a_client.management.conftest import Input

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _desk() -> None:
    factories.make_remote_agent(identifier="desk", credential_kind="bearer")


def secret() -> str | None:
    return RemoteAgent.objects.get().credential_secret


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_reads_the_secret_from_standard_input(stdin: Input, end: str) -> None:
    stdin.piped(f"the-token{end}")

    said = run("a2a_agent_secret", "desk")

    assert (said.code, secret()) == (0, "the-token")
    assert "the-token" not in said.out + said.err


def test_forgets_the_token_of_the_secret_before(stdin: Input) -> None:
    """P1."""
    agent = RemoteAgent.objects.get()
    agent.access_token = "old"
    agent.save()
    stdin.piped("new")

    run("a2a_agent_secret", "desk")

    assert RemoteAgent.objects.get().access_token is None


@pytest.mark.parametrize(
    ("text", "told"),
    [("", "empty"), ("a\nb", "header"), ("x" * 8193, "longer than 8192")],
    ids=["nothing", "two-lines", "too-long"],
)
def test_refuses_what_is_no_secret(stdin: Input, text: str, told: str) -> None:
    stdin.piped(text)

    said = run("a2a_agent_secret", "desk")

    assert (said.code, secret()) == (1, None)
    assert told in said.problem


def test_takes_no_secret_from_the_command_line(stdin: Input) -> None:
    stdin.piped("the-token")

    assert run("a2a_agent_secret", "desk", "the-token").code == 2


def test_prints_for_machines(stdin: Input) -> None:
    stdin.piped("the-token")

    said = run("a2a_agent_secret", "desk", "--json")

    assert json.loads(said.out) == {"identifier": "desk", "stored": True}


def test_says_that_a_file_is_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff"), "utf-8"))

    said = run("a2a_agent_secret", "desk")

    assert (said.code, secret()) == (1, None)
    assert "not UTF-8" in said.problem
