from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from cryptography.fernet import Fernet
from django.db import transaction

from agent_runs import encryption, key_rotation
from agent_runs.models import AgentRun, Provider
from tests import factories
from tests.agent_runs import locking

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

pytestmark = pytest.mark.django_db

OLD, NEW = (Fernet.generate_key().decode() for _ in range(2))
API_KEY = encryption.field_of(Provider, "api_key")


@pytest.fixture(autouse=True)
def _old_key(settings: Settings) -> None:
    settings.A2A_ENCRYPTION_KEYS = [OLD]


def test_everything_opens_with_the_new_key_alone(settings: Settings) -> None:
    """R17: every encrypted column of every app."""
    provider = factories.make_provider(api_key="secret")
    task = factories.make_task("working")
    settings.A2A_ENCRYPTION_KEYS = [NEW, OLD]

    rotations = {r.column: r for r in key_rotation.rotate_all()}

    settings.A2A_ENCRYPTION_KEYS = [NEW]
    assert Provider.objects.get(pk=provider.pk).api_key == "secret"
    run = AgentRun.objects.get(pk=task.run_id)
    assert run.request.startswith("{")
    task.refresh_from_db()
    assert task.history == "[]"
    assert rotations["agent_runs_provider.api_key"].rotated == 1
    assert rotations["agent_runs_agentrun.request"].rotated == 1
    assert rotations["a2a_server_task.history"].rotated == 1
    assert rotations["agent_runs_agentrun.checkpoint"].rotated == 0


def test_what_is_current_is_left_alone(settings: Settings) -> None:
    """R17: an interrupted rotation goes on where it stopped."""
    factories.make_provider(api_key="old")
    settings.A2A_ENCRYPTION_KEYS = [NEW, OLD]
    new = factories.make_provider(api_key="new")
    before = Provider.objects.values_list("api_key", flat=True).get(pk=new.pk)

    rotation = key_rotation.rotate_column(Provider, API_KEY)

    assert (rotation.rotated, rotation.current) == (1, 1)
    after = Provider.objects.values_list("api_key", flat=True).get(pk=new.pk)
    assert after == before
    again = key_rotation.rotate_column(Provider, API_KEY)
    assert (again.rotated, again.current) == (0, 2)


def test_works_in_chunks(settings: Settings) -> None:
    count = 2 * key_rotation.CHUNK + 1
    for number in range(count):
        factories.make_provider(api_key=str(number))
    settings.A2A_ENCRYPTION_KEYS = [NEW, OLD]

    rotation = key_rotation.rotate_column(Provider, API_KEY)

    assert rotation.rotated == count


def test_a_value_that_no_key_opens_is_counted_and_kept(
    settings: Settings,
) -> None:
    lost = factories.make_provider(api_key="lost")
    before = Provider.objects.values_list("api_key", flat=True).get(pk=lost.pk)
    settings.A2A_ENCRYPTION_KEYS = [NEW]
    factories.make_provider(api_key="fine")

    rotation = key_rotation.rotate_column(Provider, API_KEY)

    assert (rotation.unreadable, rotation.current) == (1, 1)
    after = Provider.objects.values_list("api_key", flat=True).get(pk=lost.pk)
    assert after == before


def test_who_writes_meanwhile_wins(settings: Settings) -> None:
    """R17: by compare-and-set."""
    provider = factories.make_provider(api_key="read by the rotation")
    read = Provider.objects.values_list("api_key", flat=True).get(pk=provider.pk)
    provider.api_key = "written meanwhile"
    provider.save()
    settings.A2A_ENCRYPTION_KEYS = [NEW, OLD]
    rotation = key_rotation.Rotation(column="api_key")

    assert read is not None
    key_rotation._rotate_value(Provider, API_KEY, provider.pk, read, rotation)

    assert rotation.changed_meanwhile == 1
    assert Provider.objects.get(pk=provider.pk).api_key == "written meanwhile"


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
def test_holds_no_row_while_it_waits_for_another(
    settings: Settings, postgresql: str
) -> None:
    """R17: so that no purge can deadlock with it."""
    for number in range(2):
        factories.make_provider(api_key=str(number))
    first, second = Provider.objects.order_by("pk")
    settings.A2A_ENCRYPTION_KEYS = [NEW, OLD]

    with ThreadPoolExecutor(1) as thread, transaction.atomic():
        Provider.objects.select_for_update().get(pk=second.pk)
        rotation = thread.submit(locking.with_own_connection, rotate_api_keys)
        locking.wait_for_who_waits_for_us()
        # Raises where somebody has it.
        Provider.objects.select_for_update(nowait=True).get(pk=first.pk)

    assert rotation.result().rotated == 2


def rotate_api_keys() -> key_rotation.Rotation:
    return key_rotation.rotate_column(Provider, API_KEY)
