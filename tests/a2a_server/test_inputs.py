from __future__ import annotations

import pytest

from a2a_server import inputs


@pytest.mark.parametrize(
    ("media_type", "patterns", "accepted"),
    [
        ("text/plain", ["text/plain"], True),
        ("Text/Plain; charset=utf-8", ["text/plain"], True),
        ("text/plain", ["TEXT/PLAIN;format=flowed"], True),
        ("text/html", ["text/plain"], False),
        ("text/html", ["text/*"], True),
        ("application/json", ["text/*"], False),
        ("application/json", ["*/*"], True),
        ("text", ["text/plain"], False),
        ("textual/x", ["text/*"], False),
        ("text/plain", [], False),
    ],
)
def test_media_type_matches_a_pattern(
    media_type: str, patterns: list[str], accepted: bool
) -> None:
    """S42, B019."""
    assert inputs.is_accepted(media_type, patterns) is accepted
