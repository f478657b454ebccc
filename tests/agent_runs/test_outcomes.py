from __future__ import annotations

from dataclasses import FrozenInstanceError
from datetime import timedelta
from typing import get_args

import pytest

from agent_runs.models import EndReason
from agent_runs.outcomes import Failed, Outcome, Released


def test_a_failure_is_not_worth_another_try_unless_it_says_so() -> None:
    """R10: anything unknown is not retried."""
    failed = Failed(reason=EndReason.NOT_RETRYABLE)

    assert (failed.is_retryable, failed.retry_after) == (False, timedelta())


def test_outcomes_are_values() -> None:
    assert Released() == Released()
    with pytest.raises(FrozenInstanceError):
        Released().delay = timedelta(1)  # type: ignore[misc]
    assert len(get_args(Outcome)) == 5
