from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from typing import TYPE_CHECKING

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection
from django.db.models import Q

from agent_runs import clock, registries
from agent_runs.management.command import ExitError
from agent_runs.models import AgentRun, RunState
from agent_runs.registries import NothingNamed
from tests import factories

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_registries() -> Iterator[None]:
    """Clients are the owners of runs here; other packages have nothing to purge."""
    purgers, filters = registries.purgers[:], dict(registries.run_filters)
    registries.purgers.clear()
    registries.register_run_filter("client", _runs_of)
    yield
    registries.purgers[:] = purgers
    registries.run_filters.clear()
    registries.run_filters.update(filters)


def _runs_of(name: str) -> Q:
    if name == "nobody":
        raise NothingNamed("No client is called «nobody».")
    return Q(owner__username=name)


def make_ended(days: float, owner: str) -> AgentRun:
    now = clock.database_now() - timedelta(days=days)
    user = factories.make_user(owner)
    return factories.make_run(RunState.COMPLETED, now=now, owner=user)


def purge(*arguments: str) -> str:
    out = StringIO()
    call_command("agent_purge", *arguments, stdout=out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        ([], {"young"}),
        (["--days", "60"], {"young", "old"}),
        (["--days", "5"], set()),
        (["--days", "0"], set()),
        (["--client", "old"], {"young"}),
        (["--client", "young"], {"young", "old"}),
        (["--client", "young", "--days", "1"], {"old"}),
        (["--dry-run"], {"young", "old"}),
    ],
)
def test_deletes_what_it_was_asked_for(arguments: list[str], left: set[str]) -> None:
    """R18; the default is the setting's 30 days."""
    make_ended(10, "young")
    make_ended(40, "old")

    purge(*arguments)

    assert set(AgentRun.objects.values_list("owner__username", flat=True)) == left


def test_prints_counts() -> None:
    """R18."""
    make_ended(40, "old")

    assert purge("--dry-run") == "Would delete 1 runs.\n"
    assert purge() == "Deleted 1 runs.\n"


def test_tells_machines() -> None:
    make_ended(40, "old")

    assert json.loads(purge("--json")) == {"dry_run": False, "deleted": {"runs": 1}}


def test_an_unknown_client_is_a_sentence() -> None:
    """W8: exit 1; nothing is deleted."""
    make_ended(40, "old")

    with pytest.raises(ExitError, match="No client is called «nobody»") as raised:
        purge("--client", "nobody")

    assert raised.value.returncode == 1
    assert AgentRun.objects.count() == 1


def test_without_clients_there_is_none_to_name() -> None:
    registries.run_filters.clear()

    with pytest.raises(ExitError, match="has no clients"):
        purge("--client", "old")


@pytest.mark.parametrize(
    "arguments", [["--days", "-1"], ["--days", "x"], ["--days"], ["--everything"]]
)
def test_a_bad_option_exits_with_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """W8."""
    with pytest.raises(SystemExit) as raised:
        purge(*arguments)

    assert raised.value.code == 2
    assert "agent_purge: " in capsys.readouterr().err


def test_a_store_that_is_away_is_a_sentence() -> None:
    """W8: exit 1, no traceback, nothing of the driver's text."""

    def away(*args: object) -> None:
        raise OperationalError("server at 10.0.0.1")

    with (
        connection.execute_wrapper(away),
        pytest.raises(ExitError, match=r"^The database cannot be used\.$") as raised,
    ):
        purge()
    assert raised.value.returncode == 1
