from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from a2a_server import run_descriptions
from agent_runs import registries
from agent_runs.registries import RunDescription
from tests import factories

if TYPE_CHECKING:
    from pytest_django import DjangoAssertNumQueries

pytestmark = pytest.mark.django_db


def test_describes_the_runs_of_tasks_in_one_query(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    tasks = [factories.make_task() for _ in range(3)]
    by_hand = factories.make_run()

    with django_assert_num_queries(1):
        found = run_descriptions.of_runs(
            [by_hand.pk, uuid.uuid4(), *(task.run_id for task in tasks)]
        )

    assert found == {
        task.run_id: RunDescription(asker=task.client.name, skill=task.profile.name)
        for task in tasks
    }


def test_is_asked_by_the_lower_package() -> None:
    task = factories.make_task()

    assert registries.described([task.run_id])[task.run_id].asker == task.client.name
