from __future__ import annotations

import json
from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection

from agent_runs.management.command import ExitError
from agent_runs.models import RunState
from agent_runs.models.run import TERMINAL_STATES
from tests import factories

pytestmark = pytest.mark.django_db


def cancel(*arguments: str) -> str:
    out = StringIO()
    call_command("agent_cancel", *arguments, stdout=out)
    return out.getvalue()


@pytest.mark.parametrize("state", sorted(set(RunState) - TERMINAL_STATES))
def test_cancels_a_run_that_goes_on(state: RunState) -> None:
    """W8: exit 0."""
    run = factories.make_run(state)

    out = cancel(str(run.id))

    run.refresh_from_db()
    assert run.state == RunState.CANCELED
    assert out == f"Run {run.id} is canceled.\n"


@pytest.mark.parametrize("state", sorted(TERMINAL_STATES))
def test_an_ended_run_is_left_alone(state: RunState) -> None:
    """W8: exit 1."""
    run = factories.make_run(state)

    with pytest.raises(ExitError) as raised:
        cancel(str(run.id))

    assert raised.value.returncode == 1
    run.refresh_from_db()
    assert run.state == state


def test_an_unknown_run_gives_the_same_answer_as_an_ended_one() -> None:
    """R20, W8."""
    unknown, ended = uuid4(), factories.make_run(RunState.FAILED).id

    sentences = []
    for run_id in (unknown, ended):
        with pytest.raises(ExitError) as raised:
            cancel(str(run_id))
        sentences.append(str(raised.value).replace(str(run_id), "…"))

    assert sentences[0] == sentences[1]


def test_tells_machines() -> None:
    run = factories.make_run()

    assert json.loads(cancel(str(run.id), "--json")) == {
        "run": str(run.id),
        "canceled": True,
    }


@pytest.mark.parametrize("arguments", [[], ["7"], ["not-an-id"], ["--all"]])
def test_a_bad_option_exits_with_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """W8."""
    with pytest.raises(SystemExit) as raised:
        cancel(*arguments)

    assert raised.value.code == 2
    assert "agent_cancel: " in capsys.readouterr().err


def test_a_store_that_is_away_is_a_sentence() -> None:
    """W8: exit 1, no traceback, nothing of the driver's text."""

    def away(*args: object) -> None:
        raise OperationalError("server at 10.0.0.1")

    run_id = str(factories.make_run().id)

    with (
        connection.execute_wrapper(away),
        pytest.raises(ExitError, match=r"^The database cannot be used\.$") as raised,
    ):
        cancel(run_id)
    assert raised.value.returncode == 1
