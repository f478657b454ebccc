"""A client's token is issued, rotated and taken away (S20–S22)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.peer import Peer

if TYPE_CHECKING:
    from tests.drill.stand import Stand

pytestmark = pytest.mark.services


def _can_call(peer: Peer) -> bool:
    answer = peer.call("ListTasks", {})
    if answer.status == 200:
        return True
    assert (answer.status, answer.reasons) == (401, ["UNAUTHENTICATED"])
    assert answer.headers["www-authenticate"] == (
        'Bearer realm="a2a", error="invalid_token"'
    )
    return False


def test_a_rotated_token_is_dead_at_once_and_the_tasks_stay(drill: Stand) -> None:
    """S20: in a web process that has just let the old one in."""
    old = drill.peer()
    drill.pretend_a_worker()
    task_id = old.start("before", skill="read_only")

    done = drill.site.manage("a2a_client_token", "client")

    with Peer(old.base_url, done.stdout.strip()) as new:
        assert not _can_call(old)
        assert new.state(task_id) == "SUBMITTED"
        drill.site.manage("a2a_client_token", "client", "--revoke")
        assert not _can_call(new)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE a2a_server_client SET is_enabled = false",
        "UPDATE a2a_server_client SET expires_at = now()",
        "UPDATE auth_user SET is_active = false",
        "UPDATE auth_user SET is_superuser = true",
    ],
    ids=["disabled", "expired", "technical user inactive", "superuser"],
)
def test_a_client_may_call_no_longer_than_its_record_says(
    quiet: Stand, statement: str
) -> None:
    """S22: at once, although a minute ago it was let in."""
    peer = quiet.peer()
    before = _can_call(peer)

    quiet.site.rows(statement)

    assert (before, _can_call(peer)) == (True, False)
    quiet.site.rows("UPDATE a2a_server_client SET is_enabled = true, expires_at = null")
    quiet.site.rows("UPDATE auth_user SET is_active = true, is_superuser = false")
