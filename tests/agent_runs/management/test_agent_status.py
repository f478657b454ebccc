from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection

from agent_runs import clock
from agent_runs.management.command import ExitError
from agent_runs.models import RunState
from tests import factories

pytestmark = pytest.mark.django_db


def status(*arguments: str) -> tuple[int, str]:
    """Exit code and what stands on stdout."""
    out = StringIO()
    try:
        call_command("agent_status", *arguments, stdout=out)
    except CommandError as error:
        return error.returncode, out.getvalue()
    return 0, out.getvalue()


def status_document(*arguments: str) -> tuple[int, dict[str, Any]]:
    code, out = status("--json", *arguments)
    document = json.loads(out)
    assert isinstance(document, dict)
    return code, document


def test_a_healthy_installation_exits_with_0() -> None:
    """W4."""
    factories.make_worker()

    code, document = status_document()

    assert code == 0
    assert document == {
        "healthy": True,
        "queued": 0,
        "running": 0,
        "failed_without_retry": 0,
        "expired_leases": 0,
        "oldest_queue_wait": None,
        "live_workers": 1,
        "live_workers_by_transport": {"celery": 0, "sweep": 1},
        "waiting_approvals": 0,
        "oldest_approval_wait": None,
        "waiting_questions": 0,
        "oldest_question_wait": None,
        "problems": [],
    }


def test_an_unhealthy_installation_exits_with_1_and_says_why() -> None:
    """W4; stdout is JSON all the same."""
    code, document = status_document()

    assert code == 1
    assert document["healthy"] is False
    assert document["problems"] == ["0 live workers, at least 1 wanted."]


def test_tells_people_the_same() -> None:
    factories.make_worker()
    now = clock.database_now() - timedelta(seconds=100)
    factories.make_run(RunState.WAITING_FOR_APPROVAL, now=now)

    code, out = status()

    assert code == 0
    assert out.startswith("Healthy.\nLive workers: 1 (0 celery, 1 sweep)\nQueued: 0\n")
    assert "Waiting approvals: 1, the oldest for 10" in out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--transport", "any"], 0),
        (["--transport", "sweep"], 0),
        (["--transport", "celery"], 1),
        (["--minimum-workers", "2"], 1),
        (["--transport", "celery", "--minimum-workers", "0"], 0),
        (["--max-queue-wait", "100"], 1),
        (["--max-queue-wait", "300.5"], 0),
        (["--worker-max-age", "30"], 1),
    ],
)
def test_the_limits_can_be_moved(arguments: list[str], code: int) -> None:
    """W4."""
    now = clock.database_now()
    factories.make_worker(last_seen_at=now - timedelta(seconds=60))
    factories.make_run(RunState.QUEUED, now=now - timedelta(seconds=200))

    assert status(*arguments)[0] == code


@pytest.mark.parametrize(
    "arguments",
    [
        ["--transport", "pigeon"],
        ["--minimum-workers", "-1"],
        ["--minimum-workers", "some"],
        ["--max-queue-wait", "-1"],
        ["--max-queue-wait", "nan"],
        ["--worker-max-age", "0"],
        ["--unknown"],
        ["surplus"],
    ],
)
def test_a_bad_option_exits_with_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """W4, W8: a sentence on stderr."""
    with pytest.raises(SystemExit) as raised:
        status(*arguments)

    assert raised.value.code == 2
    assert "agent_status: " in capsys.readouterr().err


def test_a_store_that_is_away_is_a_sentence() -> None:
    """W8: exit 1, no traceback, nothing of the driver's text."""

    def away(*args: object) -> None:
        raise OperationalError("server at 10.0.0.1")

    with (
        connection.execute_wrapper(away),
        pytest.raises(ExitError, match=r"^The database cannot be used\.$") as raised,
    ):
        call_command("agent_status")
    assert raised.value.returncode == 1
