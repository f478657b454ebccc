"""What all commands of the role do alike."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn

import pytest
from django.db import OperationalError, connection

from tests.a2a_client.management.commands import run

if TYPE_CHECKING:
    from pytest_django.fixtures import SettingsWrapper

pytestmark = pytest.mark.django_db

COMMANDS = [
    ("a2a_agent_import", "desk"),
    ("a2a_agent_refresh", "desk"),
    ("a2a_agent_secret", "desk"),
    ("a2a_agent_calls", "desk"),
    ("a2a_agent_call", "desk", "Do it."),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_says_that_the_role_is_off(
    settings: SettingsWrapper, command: tuple[str, ...]
) -> None:
    """C1."""
    settings.A2A_CLIENT_ENABLED = False

    said = run(*command)

    assert (said.code, said.out) == (1, "")
    assert "A2A_CLIENT_ENABLED" in said.problem


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_says_that_there_is_no_such_agent(command: tuple[str, ...]) -> None:
    said = run(*command)

    assert said.code == 1
    assert "There is no remote agent «desk»." in said.problem


def _refuse(*_: object) -> NoReturn:
    raise OperationalError("the database is away")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_store_error_is_told_without_its_words(command: tuple[str, ...]) -> None:
    """W8."""
    with connection.execute_wrapper(_refuse):
        said = run(*command)

    assert (said.code, said.problem) == (1, "The database cannot be used.")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_bad_options_end_with_2(command: tuple[str, ...]) -> None:
    """W8."""
    assert run(*command, "--nonsense").code == 2


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_bytes_that_are_no_text_are_bad_options(command: tuple[str, ...]) -> None:
    said = run(command[0], os.fsdecode(b"\xff"), *command[2:])

    assert (said.code, "not UTF-8" in said.problem) == (2, True)
