from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from agent_runs.models import AgentRun, RunState, WorkerHeartbeat
from tests import factories, processes

pytestmark = pytest.mark.django_db(transaction=True)


def _work(*arguments: str) -> Any:
    out = StringIO()
    call_command("agent_work", *arguments, stdout=out)
    return json.loads(out.getvalue()) if "--json" in arguments else out.getvalue()


def test_one_tick_runs_what_is_due_and_says_so() -> None:
    """W3."""
    run = factories.make_run(configuration=factories.make_configuration())

    told = _work("--json")

    run.refresh_from_db()
    assert told["runs"] == 1
    assert run.state == RunState.COMPLETED


def test_a_failed_run_is_no_failure_of_the_tick() -> None:
    """W3: exit 0 whatever the runs' outcomes."""
    factories.make_run(handler="gone.away")

    assert "1 runs" in _work()
    assert AgentRun.objects.get().state == RunState.FAILED


def test_the_tick_counts_as_a_worker() -> None:
    _work("--limit", "0")

    assert WorkerHeartbeat.objects.get().transport == "sweep"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--interval", "0"],
        ["--limit", "-1"],
        ["--limit", "x"],
        ["--max-seconds", "-1"],
        ["--what"],
    ],
    ids=" ".join,
)
def test_bad_options_exit_with_2_and_a_sentence(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """W8."""
    with pytest.raises(SystemExit) as exit_info:
        _work(*arguments)

    assert exit_info.value.code == 2
    assert "agent_work" in capsys.readouterr().err


def test_the_loop_works_until_it_is_told_to_stop(
    embedded_site: processes.Installation,
) -> None:
    """W3, W6: SIGTERM ends the loop in good order and takes the heartbeat away."""
    worker = embedded_site.start_sweep()

    code = worker.stop()

    assert code == 0
    assert embedded_site.rows("SELECT count(*) FROM agent_runs_workerheartbeat") == [
        (0,)
    ]
