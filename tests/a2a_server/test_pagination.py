from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core import signing

from a2a_protocol.errors import ProtocolError
from a2a_server import pagination
from a2a_server.pagination import Position, Walk
from tests.a2a_server.calling import assert_invalid

MOMENT = datetime(2026, 3, 4, 5, 6, 7, 89_000, UTC)
POSITION = Position(status_at=MOMENT, task_id=uuid.UUID(int=7))
WALK = Walk(
    client_id=1,
    base_url="https://a.example",
    skills=[1, 2],
    context_id="",
    state="",
    status_after=None,
)


def test_a_token_leads_back_to_its_position() -> None:
    """S65."""
    token = pagination.make_token(WALK, POSITION)

    assert pagination.read_token(WALK, token) == POSITION
    assert pagination.read_token(replace(WALK, skills=[2, 1]), token) == POSITION


@pytest.mark.parametrize(
    "change",
    [
        {"client_id": 2},
        {"base_url": "https://b.example"},
        {"skills": [1]},
        {"skills": [1, 2, 3]},
        {"context_id": "c"},
        {"state": "working"},
        {"status_after": MOMENT},
    ],
    ids=str,
)
def test_a_token_is_of_no_use_to_another_walk(change: dict[str, Any]) -> None:
    """S65."""
    token = pagination.make_token(WALK, POSITION)

    with pytest.raises(ProtocolError) as caught:
        pagination.read_token(replace(WALK, **change), token)

    assert_invalid(caught.value, "pageToken")


@pytest.mark.parametrize(
    "value",
    [None, "x", [1], ["a", "b", "c"], ["a", MOMENT.isoformat(), 5], {}],
    ids=str,
)
def test_signed_nonsense_is_no_token(value: object) -> None:
    """S65: one that an older release signed may look like anything."""
    token = signing.dumps(value, salt="a2a_server.pagination")

    with pytest.raises(ProtocolError) as caught:
        pagination.read_token(WALK, token)

    assert_invalid(caught.value, "pageToken")


def test_a_token_of_another_purpose_is_no_token() -> None:
    """S65."""
    token = signing.dumps([WALK.digest(), MOMENT.isoformat(), uuid.uuid4().hex])

    with pytest.raises(ProtocolError):
        pagination.read_token(WALK, token)
