from __future__ import annotations

import pytest

from agent_runs.effects import Effect


@pytest.mark.parametrize(
    ("effect", "is_write", "may_repeat"),
    [
        (Effect.READ_ONLY, False, True),
        (Effect.IDEMPOTENT_WRITE, True, True),
        (Effect.NON_IDEMPOTENT_WRITE, True, False),
    ],
)
def test_only_a_write_that_may_repeat_is_started_again(
    effect: Effect, is_write: bool, may_repeat: bool
) -> None:
    """R8, T1."""
    assert effect.is_write is is_write
    assert effect.may_repeat is may_repeat
