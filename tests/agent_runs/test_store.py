from __future__ import annotations

import pytest
from django.db import DataError, IntegrityError, InterfaceError, OperationalError

from agent_runs.store import STORE_AWAY


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_a_connection_that_fails_means_the_store_is_away(
    error: type[Exception],
) -> None:
    assert issubclass(error, STORE_AWAY)


@pytest.mark.parametrize("error", [IntegrityError, DataError])
def test_a_query_that_is_refused_is_a_mistake(error: type[Exception]) -> None:
    assert not issubclass(error, STORE_AWAY)
