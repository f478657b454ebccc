from __future__ import annotations

from egress.limits import Limits


def test_the_bounds_are_those_that_are_documented() -> None:
    """E7."""
    limits = Limits()

    assert (limits.connect_seconds, limits.total_seconds) == (5, 30)
    assert limits.idle_seconds == 60
    assert limits.body_bytes == 2 * 1024 * 1024
    assert limits.header_bytes == 100 * 1024
