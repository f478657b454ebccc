from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_runs.tools import builtin, registry

if TYPE_CHECKING:
    from pytest_django.fixtures import SettingsWrapper


@pytest.mark.django_db
def test_these_come_with_the_product_and_are_registered() -> None:
    """T2, T5: writers, what asks, and what reaches the network ship disabled."""
    shipped = {
        tool.name: (tool.enabled_by_default, tool.effect.is_write)
        for tool in builtin.tools()
    }

    assert shipped == {
        "ask_choice": (False, False),
        "draft_record": (False, True),
        "fetch_url": (False, False),
        "get_record": (True, False),
        "list_records": (True, False),
    }
    assert set(shipped) <= set(registry.all_tools())


def test_they_are_there_before_any_model_is_allowed(settings: SettingsWrapper) -> None:
    """So that administrators find them, and profiles keep them."""
    settings.AGENT_RUNS_READABLE_MODELS = {}
    settings.AGENT_RUNS_WRITABLE_MODELS = {}

    described = {tool.name: tool.description for tool in builtin.tools()}

    assert len(described) == 5
    assert "None is allowed at present." in described["draft_record"]
