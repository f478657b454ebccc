from __future__ import annotations

from datetime import timedelta

import pytest

from a2a_client import contact
from a2a_client.models import RemoteAgent
from agent_runs import clock
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("seconds", "is_written"), [(None, True), (61, True), (30, False)]
)
def test_a_contact_is_written_once_a_minute(
    seconds: int | None, is_written: bool
) -> None:
    before = seconds and clock.database_now() - timedelta(seconds=seconds)
    agent = factories.make_remote_agent(last_contact_at=before)

    contact.heard(agent)

    assert (RemoteAgent.objects.get().last_contact_at != before) is is_written


def test_a_contact_of_another_agent_is_none() -> None:
    other = factories.make_remote_agent()

    contact.heard(factories.make_remote_agent())

    other.refresh_from_db()
    assert other.last_contact_at is None
