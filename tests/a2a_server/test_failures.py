from __future__ import annotations

import concurrent.futures
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.db import connections

from a2a_server import failures
from a2a_server.models import AuthFailure
from agent_runs import clock

if TYPE_CHECKING:
    from pytest_django import DjangoAssertNumQueries
    from pytest_django.fixtures import SettingsWrapper

HERE = "192.0.2.7"
# Nothing listens there; a connection is refused at once.
NO_REDIS = "redis://127.0.0.1:9/0"


@pytest.fixture(params=["table", "redis", "process"])
def store(request: pytest.FixtureRequest, settings: SettingsWrapper, db: None) -> str:
    """Each place where counts may live."""
    kind: str = request.param
    if kind == "redis":
        settings.A2A_REDIS_URL = request.getfixturevalue("redis_url")
    else:
        settings.A2A_REDIS_URL = NO_REDIS if kind == "process" else ""
    return kind


def test_says_how_long_to_wait_after_the_limit(
    settings: SettingsWrapper, store: str
) -> None:
    """S23: the failures within the limit are still answered as such."""
    settings.A2A_SERVER_AUTH_FAILURES = "3/900"
    address = f"limit-{store}"

    counted = [failures.count_failure(address) for _ in range(5)]

    assert counted[:3] == [None, None, None]
    assert all(seconds and 895 <= seconds <= 900 for seconds in counted[3:])


def test_counts_each_address_for_itself(settings: SettingsWrapper, store: str) -> None:
    settings.A2A_SERVER_AUTH_FAILURES = "1/900"
    failures.count_failure(f"first-{store}")

    assert failures.count_failure(f"second-{store}") is None


def test_forgets_the_oldest_address_beyond_the_bound(
    settings: SettingsWrapper, store: str
) -> None:
    """S23: the number of counted addresses is bounded."""
    for number in range(3):
        # Windows that end one after the other, however fast this is.
        settings.A2A_SERVER_AUTH_FAILURES = f"1/{900 + number}"
        failures.count_failure(f"bound-{store}-{number}", most=2)

    assert failures.count_failure(f"bound-{store}-2", most=2)
    assert failures.count_failure(f"bound-{store}-0", most=2) is None  # begins anew


@pytest.mark.django_db
@pytest.mark.usefixtures("without_redis")
def test_a_new_window_opens_after_the_old_one(settings: SettingsWrapper) -> None:
    """S23: fixed from the first failure."""
    settings.A2A_SERVER_AUTH_FAILURES = "1/900"
    ended = clock.database_now() - timedelta(seconds=1)
    AuthFailure.objects.create(address=HERE, count=50, expires_at=ended)

    assert failures.count_failure(HERE) is None
    assert failures.count_failure(HERE)


@pytest.mark.django_db
@pytest.mark.usefixtures("without_redis")
def test_an_address_over_the_limit_costs_no_write(
    settings: SettingsWrapper, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """Two reads: the time and the count."""
    settings.A2A_SERVER_AUTH_FAILURES = "1/900"
    failures.count_failure(HERE)

    with django_assert_num_queries(2):
        assert failures.count_failure(HERE)

    assert AuthFailure.objects.get(address=HERE).count == 1


@pytest.mark.django_db
@pytest.mark.usefixtures("without_redis")
def test_removes_windows_that_have_ended(settings: SettingsWrapper) -> None:
    ended = clock.database_now() - timedelta(seconds=1)
    AuthFailure.objects.create(address="gone", count=1, expires_at=ended)

    failures.count_failure(HERE)

    assert list(AuthFailure.objects.values_list("address", flat=True)) == [HERE]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("without_redis")
def test_counts_exactly_under_concurrency(settings: SettingsWrapper) -> None:
    settings.A2A_SERVER_AUTH_FAILURES = "10/900"

    def fail(_: int) -> int | None:
        try:
            return failures.count_failure(HERE)
        finally:
            connections.close_all()

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        counted = list(pool.map(fail, range(24)))

    assert counted.count(None) == 10
