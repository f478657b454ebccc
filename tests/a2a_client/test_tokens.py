from __future__ import annotations

import asyncio
import base64
import json
import logging
import math
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import pytest
from asgiref.sync import async_to_sync

from a2a_client import tokens, transport
from a2a_client.audit import Audit
from a2a_client.models import CredentialKind, RemoteAgent
from a2a_client.replies import Accepted, NotAccepted
from a2a_client.tokens import TokenNotGiven
from a2a_protocol import types
from agent_runs import clock
from agent_runs.encryption import Sealed, field_of
from tests import factories
from tests.a2a_client import agents, scripts
from tests.a2a_client.peer import Gate

if TYPE_CHECKING:
    from a2a_client.replies import Judgement
    from tests.a2a_client.peer import Peer, Script

pytestmark = pytest.mark.django_db

ASK = "POST /token"
SECRET = "s3cret & söhne"
AUDIT = Audit(purpose="test")


def given(token: str = "t1", status: int = 200, **members: Any) -> Script:
    body = {"access_token": token, "token_type": "Bearer", "expires_in": 3600} | members
    return scripts.http(status, json.dumps(body).encode(), scripts.JSON)


def make_agent(peer: Peer, **values: Any) -> RemoteAgent:
    defaults = {
        "credential_kind": CredentialKind.OAUTH2,
        "credential_name": "client id",
        "token_url": peer.token_url,
        "secret": SECRET,
    }
    return factories.make_remote_agent(peer.url, **defaults | values)


def got(agent: RemoteAgent) -> str:
    return async_to_sync(tokens.token)(agent, SECRET, audit=AUDIT)


def refusal(agent: RemoteAgent) -> str:
    with pytest.raises(TokenNotGiven) as refused:
        got(agent)
    assert refused.value.code == "token"
    assert not RemoteAgent.objects.get().access_token
    return refused.value.sentence


def age(seconds: int) -> None:
    """Let the kept token end so much earlier."""
    kept = RemoteAgent.objects.get().access_token_expires_at
    assert kept
    earlier = kept - timedelta(seconds=seconds)
    RemoteAgent.objects.update(access_token_expires_at=earlier)


# --- Asking ---------------------------------------------------------------------------


def test_a_token_is_asked_for_as_the_rfc_has_it(peer: Peer) -> None:
    """RFC 6749 sections 2.3.1 and 4.4.2."""
    peer.on(ASK, given())

    got(make_agent(peer, scopes="read write"))

    (received,) = peer.received
    scheme, _, pair = received.headers["authorization"].partition(" ")
    assert scheme == "Basic"
    assert base64.b64decode(pair) == b"client+id:s3cret+%26+s%C3%B6hne"
    assert received.headers["content-type"] == "application/x-www-form-urlencoded"
    assert parse_qs(received.body.decode()) == {
        "grant_type": ["client_credentials"],
        "scope": ["read write"],
    }


def test_what_proves_the_client_is_audited(
    peer: Peer, caplog: pytest.LogCaptureFixture
) -> None:
    """C3: with the host that it went to, and never with the secret."""
    peer.on(ASK, given())
    agent = make_agent(peer)
    agent.interface_url = "https://agent.example/rpc"

    with caplog.at_level(logging.INFO, "a2a_client"):
        got(agent)
        got(agent)

    (record,) = [r for r in caplog.records if r.message == "client secret sent"]
    facts = vars(record)
    assert (facts["agent"], facts["host"]) == (agent.identifier, "127.0.0.1")
    assert facts["purpose"] == AUDIT.purpose
    assert SECRET not in str(facts)


def test_without_scopes_none_are_named(peer: Peer) -> None:
    peer.on(ASK, given())

    got(make_agent(peer))

    assert peer.received[0].body == b"grant_type=client_credentials"


def test_a_token_is_kept_and_sealed(peer: Peer) -> None:
    peer.on(ASK, given("t1"), given("t2"))
    agent = make_agent(peer)

    assert [got(agent), got(agent)] == ["t1", "t1"]

    assert peer.count(ASK) == 1
    stored = RemoteAgent.objects.values_list("access_token", flat=True).get()
    assert isinstance(stored, Sealed)
    assert RemoteAgent.objects.get().access_token == "t1"


def test_a_new_one_is_asked_for_shortly_before_the_end(peer: Peer) -> None:
    peer.on(ASK, given("t1"), given("t2"))
    agent = make_agent(peer)
    got(agent)

    age(3600 - tokens.MARGIN_SECONDS)

    assert got(agent) == "t2"


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        (3600, 3600 - tokens.MARGIN_SECONDS),
        ("3600", 3600 - tokens.MARGIN_SECONDS),
        (3599.9, 3599 - tokens.MARGIN_SECONDS),
        (10, 5),
        (0, 0),
        (-5, 0),
        (10**30, tokens.LONGEST_SECONDS - tokens.MARGIN_SECONDS),
        (None, tokens.ASSUMED_SECONDS - tokens.MARGIN_SECONDS),
        (True, tokens.ASSUMED_SECONDS - tokens.MARGIN_SECONDS),
        ("soon", tokens.ASSUMED_SECONDS - tokens.MARGIN_SECONDS),
        (math.nan, tokens.ASSUMED_SECONDS - tokens.MARGIN_SECONDS),
        (math.inf, tokens.ASSUMED_SECONDS - tokens.MARGIN_SECONDS),
        ("9" * 5000, tokens.LONGEST_SECONDS - tokens.MARGIN_SECONDS),
    ],
)
def test_a_token_is_used_as_long_as_it_is_good(
    peer: Peer, said: object, seconds: int
) -> None:
    peer.on(ASK, given(expires_in=said))
    before = clock.database_now()

    got(make_agent(peer))

    until = RemoteAgent.objects.get().access_token_expires_at
    assert until
    assert timedelta(0) <= until - before - timedelta(seconds=seconds) < timedelta(20)


def test_who_comes_while_it_is_asked_for_waits_for_that_answer(peer: Peer) -> None:
    gate = Gate(given())
    peer.on(ASK, gate)
    agent = make_agent(peer)

    async def at_once() -> list[str]:
        asked = [
            asyncio.create_task(tokens.token(agent, SECRET, audit=AUDIT))
            for _ in range(4)
        ]
        await asyncio.to_thread(peer.wait_for, ASK)
        gate.open()
        return await asyncio.gather(*asked)

    assert async_to_sync(at_once)() == ["t1"] * 4
    assert peer.count(ASK) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"credential_name": "another"},
        {"scopes": "more"},
        {"token_url": "https://other.example/token"},
    ],
)
def test_a_token_is_not_kept_for_what_was_changed_meanwhile(
    peer: Peer, changed: dict[str, str]
) -> None:
    peer.on(ASK, given())
    agent = make_agent(peer)
    RemoteAgent.objects.update(**changed)

    got(agent)

    assert RemoteAgent.objects.get().access_token is None


def test_a_kept_token_that_does_not_open_is_asked_for_anew(peer: Peer) -> None:
    peer.on(ASK, given("t1"), given("t2"))
    agent = make_agent(peer)
    got(agent)
    of_another = field_of(RemoteAgent, "access_token").seal(agent.pk + 1, "x")
    RemoteAgent.objects.update(access_token=of_another)

    assert got(agent) == "t2"


# --- No token -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (401, {"error": "invalid_client"}, "(HTTP 401, invalid_client)"),
        (
            400,
            {"error": "invalid_scope", "error_description": SECRET},
            "invalid_scope)",
        ),
        (400, {"error": SECRET}, "(HTTP 400)"),
        (500, {}, "(HTTP 500)"),
        (302, {}, "(HTTP 302)"),
    ],
)
def test_a_refusal_says_what_the_endpoint_may_say(
    peer: Peer, status: int, body: Any, said: str
) -> None:
    peer.on(ASK, scripts.http(status, json.dumps(body).encode()))

    sentence = refusal(make_agent(peer))

    assert said in sentence
    assert "«127.0.0.1»" in sentence
    assert SECRET not in sentence


@pytest.mark.parametrize(
    "script",
    [
        scripts.html(),
        scripts.http(200, b"[]"),
        scripts.http(200, b"[" * 100_000),
        given(""),
        given(access_token=5),
        given("t" * 9000),
        given(token_type="mac"),
        given(token_type=None),
    ],
)
def test_what_is_no_token_is_not_used(peer: Peer, script: Script) -> None:
    peer.on(ASK, script)

    assert "answered with" in refusal(make_agent(peer))


def test_the_kind_of_a_token_is_no_matter_of_case(peer: Peer) -> None:
    peer.on(ASK, given(token_type="bearer"))

    assert got(make_agent(peer)) == "t1"


@pytest.mark.parametrize("script", [scripts.reset, scripts.endless, scripts.silence])
def test_an_endpoint_that_fails_gives_no_token(peer: Peer, script: Script) -> None:
    peer.on(ASK, script)

    sentence = refusal(make_agent(peer, timeout_seconds=1))

    assert sentence.startswith("The agent needs a token, and none was given. «127.")


def test_the_guard_is_asked_about_the_endpoint(peer: Peer) -> None:
    agent = make_agent(peer, token_url="http://10.0.0.1/token")

    assert "«10.0.0.1»" in refusal(agent)


# --- In a request ---------------------------------------------------------------------


def ask(agent: RemoteAgent) -> Judgement:
    get = types.GetTaskRequest(id="R1")
    return async_to_sync(transport.send)(agent, "GetTask", get, audit=AUDIT)


def test_a_request_carries_the_token(peer: Peer) -> None:
    peer.on(ASK, given())
    peer.on("GetTask", scripts.result(agents.task()))

    assert isinstance(ask(make_agent(peer)), Accepted)

    assert peer.of("GetTask")[0].headers["authorization"] == "Bearer t1"


def test_without_a_token_nothing_of_the_message_leaves(peer: Peer) -> None:
    peer.on(ASK, scripts.http(401))

    found = ask(make_agent(peer))

    assert isinstance(found, NotAccepted)
    assert found.code == "token"
    assert not peer.count("GetTask")


@pytest.mark.parametrize("token", ["a\r\nX: b", "ключ", "a\x00"])
def test_a_token_that_no_header_can_carry_is_not_sent(peer: Peer, token: str) -> None:
    peer.on(ASK, given(token))

    found = ask(make_agent(peer))

    assert isinstance(found, NotAccepted)
    assert found.code == "token"
    assert not peer.count("GetTask")


def test_after_a_401_a_new_token_is_asked_for(peer: Peer) -> None:
    peer.on(ASK, given("t1"), given("t2"))
    peer.on("GetTask", scripts.http(401), scripts.result(agents.task()))
    agent = make_agent(peer)

    first, second = ask(agent), ask(agent)

    assert isinstance(first, NotAccepted)
    assert isinstance(second, Accepted)
    sent = [received.headers["authorization"] for received in peer.of("GetTask")]
    assert sent == ["Bearer t1", "Bearer t2"]


@pytest.mark.parametrize("status", [200, 403, 500])
def test_after_anything_else_the_token_is_kept(peer: Peer, status: int) -> None:
    peer.on(ASK, given())
    peer.on("GetTask", scripts.http(status))

    ask(make_agent(peer))

    assert RemoteAgent.objects.get().access_token == "t1"


def test_a_newer_token_than_the_refused_one_is_kept(peer: Peer) -> None:
    peer.on(ASK, given("t2"))
    agent = make_agent(peer)
    got(agent)

    tokens.forget(agent, "t1")

    assert RemoteAgent.objects.get().access_token == "t2"


def test_there_may_be_no_token_to_forget(peer: Peer) -> None:
    tokens.forget(make_agent(peer), "t1")

    assert RemoteAgent.objects.get().access_token is None
