from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.db import transaction

from agent_runs import clock


@pytest.mark.django_db
def test_the_database_tells_the_time_in_utc_and_milliseconds() -> None:
    """R9."""
    now = clock.database_now()

    assert now.tzinfo is UTC
    assert now.microsecond % 1000 == 0
    assert abs(now - datetime.now(UTC)) < timedelta(minutes=1)


@pytest.mark.django_db(transaction=True)
def test_time_goes_on_inside_a_transaction() -> None:
    """A transaction that waited for a lock must not see the moment it began."""
    with transaction.atomic():
        first = clock.database_now()
        while clock.database_now() == first:
            continue


def test_milliseconds_are_cut_and_not_rounded_up() -> None:
    east = timezone(timedelta(hours=2))
    moment = datetime(2026, 1, 2, 3, 4, 5, 999_999, tzinfo=east)

    assert clock.to_milliseconds(moment) == datetime(
        2026, 1, 2, 1, 4, 5, 999_000, tzinfo=UTC
    )
