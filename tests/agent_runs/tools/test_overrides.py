from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied

from agent_runs.models import RunState, ToolSetting
from agent_runs.tools import overrides
from tests import factories

pytestmark = pytest.mark.django_db


def test_stores_what_differs_from_the_declaration(superuser: User) -> None:
    """T2."""
    overrides.override("a", enabled=None, requires_approval=True, user=superuser)

    stored = ToolSetting.objects.get(name="a")
    assert (stored.enabled, stored.requires_approval) == (None, True)


def test_changes_a_row_that_is_there(superuser: User) -> None:
    overrides.override("a", enabled=True, requires_approval=None, user=superuser)
    overrides.override("a", enabled=False, requires_approval=None, user=superuser)

    assert ToolSetting.objects.get().enabled is False


def test_as_declared_needs_no_row(superuser: User) -> None:
    overrides.override("a", enabled=True, requires_approval=None, user=superuser)
    overrides.override("a", enabled=None, requires_approval=None, user=superuser)

    assert not ToolSetting.objects.exists()


def test_a_stranger_changes_nothing(stranger: User) -> None:
    for user in (stranger, AnonymousUser()):
        with pytest.raises(PermissionDenied):
            overrides.override("a", enabled=True, requires_approval=None, user=user)

    assert not ToolSetting.objects.exists()


def test_counts_only_waiting_runs_that_were_given_the_tool() -> None:
    for state in (RunState.WAITING_FOR_INPUT, RunState.WAITING_FOR_APPROVAL):
        factories.make_run(state, tools=["a", "b"])
    factories.make_run(RunState.WAITING_FOR_INPUT, tools=["b"])
    factories.make_run(RunState.QUEUED, tools=["a"])

    assert overrides.waiting_with("a") == (2, False)


def test_looks_through_a_bounded_number_of_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(overrides, "LOOKED_AT", 2)
    for _ in range(3):
        factories.make_run(RunState.WAITING_FOR_INPUT, tools=["a"])

    assert overrides.waiting_with("a") == (2, True)
