from __future__ import annotations

import pytest

from a2a_client import agents
from agent_runs.registries import NothingNamed
from tests import factories

pytestmark = pytest.mark.django_db


def test_finds_an_agent_by_its_identifier() -> None:
    agent = factories.make_remote_agent(identifier="desk")

    assert agents.named("desk") == agent


@pytest.mark.parametrize("identifier", ["desk", "", "DESK"])
def test_says_that_there_is_none(identifier: str) -> None:
    factories.make_remote_agent(identifier="other")

    with pytest.raises(NothingNamed, match=f"no remote agent «{identifier}»"):
        agents.named(identifier)
