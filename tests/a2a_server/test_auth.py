from __future__ import annotations

import base64
import logging
import re
import sqlite3
from contextlib import closing
from datetime import timedelta
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import pytest

from a2a_protocol import jsonrpc
from a2a_protocol.errors import ProtocolError
from a2a_server import auth
from a2a_server.models import AuthFailure, Client
from agent_runs import clock
from tests import factories

if TYPE_CHECKING:
    from pytest_django import DjangoAssertNumQueries
    from pytest_django.fixtures import SettingsWrapper

pytestmark = pytest.mark.django_db

ADDRESS = ip_address("192.0.2.7")


def authenticate(*headers: str) -> Any:
    return auth.authenticate([header.encode("latin-1") for header in headers], ADDRESS)


def refusal_of(*headers: str) -> bytes:
    with pytest.raises(ProtocolError) as caught:
        authenticate(*headers)
    return jsonrpc.error_bytes(None, caught.value)


def test_finds_the_client_behind_a_token() -> None:
    """S21."""
    workspace = factories.make_workspace()
    client = factories.make_client(task_limit=3, workspace=workspace)

    caller = authenticate(factories.token_of(client).header)

    assert caller.client_id == client.id
    assert caller.client_name == client.name
    assert caller.technical_user_id == client.technical_user_id
    assert caller.workspace_id == workspace.id
    assert caller.task_limit == 3


@pytest.mark.parametrize(
    "form", ["Bearer {}", "bearer {}", "BEARER  {}", "bEaReR     {}", "Bearer {} "]
)
def test_reads_the_scheme_in_any_case_and_with_any_spaces(form: str) -> None:
    """B091, RFC 9110 11.1."""
    client = factories.make_client()

    caller = authenticate(form.format(factories.token_of(client).text))

    assert caller.client_id == client.id


def test_asks_the_database_once_for_a_token_that_was_used_already(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    """One query: the client, its technical user and the database's time."""
    header = factories.token_of(factories.make_client()).header
    authenticate(header)

    with django_assert_num_queries(1):
        authenticate(header)


TOKEN = factories.Token(7).text


@pytest.mark.parametrize(
    "headers",
    [
        (),
        ("",),
        ("Bearer",),
        ("Bearer ",),
        ("Bearer caf\xe9",),
        (f"Bearer\t{TOKEN}",),
        (f"Bearer {TOKEN} extra",),
        (f"Bearer {TOKEN},Bearer {TOKEN}",),
        (f"Bearer {TOKEN}", f"Bearer {TOKEN}"),
        (TOKEN,),
        (f"Bearer{TOKEN}",),
        (f"Basic {base64.b64encode(TOKEN.encode()).decode()}",),
        (f"Bearer {TOKEN}\x00",),
        (f"Bearer {TOKEN}\n",),
        (f"Bearer {TOKEN.upper()}",),
        (f"Bearer {TOKEN[:-1]}",),
        (f"Bearer {'a' * 65536}",),
    ],
)
def test_refuses_every_malformed_header_alike(headers: tuple[str, ...]) -> None:
    """S22, B091: never a 500, and always the same body, though the token is good."""
    factories.make_client(token=factories.Token(7))

    assert refusal_of(*headers) == refusal_of("Bearer unknown")


def test_refuses_whoever_may_not_call_as_it_refuses_the_unknown() -> None:
    """S22: expired, disabled and unknown cannot be told apart."""
    now = clock.database_now()
    inactive = factories.make_user(is_active=False)
    superuser = factories.make_user(is_superuser=True)
    unusable = [
        factories.make_client(is_enabled=False),
        factories.make_client(expires_at=now),
        factories.make_client(expires_at=now - timedelta(days=1)),
        factories.make_client(technical_user=inactive),
        factories.make_client(technical_user=superuser),
    ]

    bodies = {refusal_of(factories.token_of(client).header) for client in unusable} | {
        refusal_of(factories.Token(999_999).header),
        refusal_of(),
    }

    assert len(bodies) == 1


def test_refuses_a_known_prefix_with_another_secret() -> None:
    client = factories.make_client()
    token = factories.token_of(client).text

    assert b"UNAUTHENTICATED" in refusal_of(f"Bearer {token[:-1]}A")


def test_admits_a_client_that_expires_later() -> None:
    client = factories.make_client(
        expires_at=clock.database_now() + timedelta(minutes=1)
    )

    assert authenticate(factories.token_of(client).header)


def test_logs_address_and_reason_and_never_the_token(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """S23."""
    client = factories.make_client(is_enabled=False)
    token = factories.token_of(client).text

    refusal_of(f"Bearer {token}")

    record = next(r for r in caplog.records if r.message == "Authentication failed")
    assert vars(record)["address"] == "192.0.2.7"
    assert vars(record)["reason"] == "client disabled"
    assert token not in str([vars(each) for each in caplog.records])


def test_limits_failures_and_never_a_valid_token(settings: SettingsWrapper) -> None:
    """S23: after so many failures, failing requests from there get 429."""
    settings.A2A_SERVER_AUTH_FAILURES = "2/900"
    header = factories.token_of(factories.make_client()).header

    reasons = []
    for _ in range(4):
        with pytest.raises(ProtocolError) as caught:
            authenticate("Bearer wrong")
        reasons.append((caught.value.reason, caught.value.http_status))
    caller = authenticate(header)

    assert reasons == [("UNAUTHENTICATED", 401)] * 2 + [("AUTH_RATE_LIMITED", 429)] * 2
    assert caught.value.retry_after is not None
    assert 1 <= caught.value.retry_after <= 900
    assert caller


@pytest.mark.usefixtures("without_redis")
def test_counts_no_success() -> None:
    authenticate(factories.token_of(factories.make_client()).header)

    assert not AuthFailure.objects.exists()


def test_writes_the_last_use_at_most_once_a_minute() -> None:
    """P4."""
    client = factories.make_client()
    header = factories.token_of(client).header

    authenticate(header)
    client.refresh_from_db()
    first = client.last_used_at
    auth.authenticate([header.encode()], ip_address("198.51.100.1"))
    client.refresh_from_db()

    assert first
    assert client.last_used_at == first
    assert client.last_used_from == "192.0.2.7"


def test_leaves_a_last_use_that_another_process_has_just_written() -> None:
    """P4: the minute holds for all processes together."""
    written = clock.database_now() - timedelta(seconds=30)
    client = factories.make_client(last_used_at=written)

    authenticate(factories.token_of(client).header)

    client.refresh_from_db()
    assert client.last_used_at == written


def test_issues_a_token_that_opens_and_keeps_only_its_hash() -> None:
    """S20, S21."""
    client = factories.make_client()
    now = clock.database_now()

    token = auth.issue_token(client, now=now, by="operator")

    client.refresh_from_db()
    assert re.fullmatch(r"a2a_[a-z0-9]{12}_[A-Za-z0-9_-]{43}", token)
    assert client.token_prefix == token[4:16]
    assert client.token_issued_at == now
    assert token[17:] not in str(vars(client))
    assert authenticate(f"Bearer {token}").client_id == client.id


def test_a_new_token_kills_the_old_one_at_once() -> None:
    """S20."""
    client = factories.make_client()
    old = factories.token_of(client).header
    authenticate(old)

    auth.issue_token(client, now=clock.database_now(), by="operator")

    assert b"UNAUTHENTICATED" in refusal_of(old)


def test_revoking_leaves_no_token() -> None:
    client = factories.make_client()
    header = factories.token_of(client).header

    auth.revoke_token(client, by="operator")

    client.refresh_from_db()
    assert client.token_prefix is None
    assert client.token_hash == ""
    assert b"UNAUTHENTICATED" in refusal_of(header)


def test_logs_who_issued_and_revoked(caplog: pytest.LogCaptureFixture) -> None:
    """S20: client, prefix and operator; never the token."""
    caplog.set_level(logging.INFO)
    client = factories.make_client("reporting")

    token = auth.issue_token(client, now=clock.database_now(), by="ada")
    auth.revoke_token(Client.objects.get(id=client.id), by="ada")

    logged = [vars(r) for r in caplog.records if r.name == auth.__name__]
    assert [r["message"] for r in logged] == ["Token issued", "Token revoked"]
    assert {(r["client"], r["prefix"], r["by"]) for r in logged} == {
        ("reporting", token[4:16], "ada")
    }
    assert token not in str(logged)


def test_on_sqlite_no_request_waits_for_the_lock_in_order_to_be_noted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """P4: the lock is the whole database's, and others wait 20 s for it."""
    raw = sqlite3.connect(":memory:", timeout=20)

    class Connection:
        vendor = "sqlite"

        def cursor(self) -> closing[sqlite3.Cursor]:
            return closing(raw.cursor())

    def timeout() -> int:
        return int(raw.execute("PRAGMA busy_timeout").fetchone()[0])

    monkeypatch.setattr(auth, "connection", Connection())

    with auth._without_waiting():
        meanwhile = timeout()

    assert (meanwhile, timeout()) == (0, 20_000)
    raw.close()


# --- Turns ----------------------------------------------------------------------------


def test_whoever_knows_a_part_of_a_token_takes_no_turn_from_its_client() -> None:
    """S23: a prefix is no secret, it stands in logs."""
    whole = f"a2a_{'p' * 12}_{'s' * 43}"
    guessed = f"a2a_{'p' * 12}_{'t' * 43}"
    keys = [
        auth.presented_digest([f"{scheme} {token}".encode()])
        for scheme, token in [
            ("Bearer", whole),
            ("bearer", whole),
            ("Bearer", guessed),
            ("Bearer", "x"),
        ]
    ]

    assert keys[0] == keys[1]
    assert keys[2] not in {keys[0], ""}
    assert keys[3] == ""
