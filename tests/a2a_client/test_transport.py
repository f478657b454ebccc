from __future__ import annotations

import logging
import time
import uuid
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from asgiref.sync import async_to_sync
from django.db import DatabaseError, connection

from a2a_client import transport
from a2a_client.audit import Audit
from a2a_client.models import CredentialKind, RemoteAgent
from a2a_client.replies import Accepted, NotAccepted, Unknown
from a2a_protocol import types
from agent_runs import clock
from tests import factories
from tests.a2a_client import agents, scripts
from tests.a2a_client.peer import Peer

if TYPE_CHECKING:
    from a2a_client.replies import Judgement
    from tests.a2a_client.peer import Script

pytestmark = pytest.mark.django_db

RUN = uuid.uuid4()
AUDIT = Audit(run_id=RUN, purpose="test")
GET = types.GetTaskRequest(id="R1")
TASK = agents.task("WORKING")
SECRET = "s3cret-of-the-agent"


def ask(agent: RemoteAgent, *, seconds: float | None = None) -> Judgement:
    send = async_to_sync(transport.send)
    return send(agent, "GetTask", GET, audit=AUDIT, seconds=seconds)


def answered(peer: Peer, script: Script, *, seconds: float | None = None) -> Any:
    """What is made of this answer; it was asked for once."""
    peer.on("GetTask", script)

    found = ask(factories.make_remote_agent(peer.url), seconds=seconds)

    assert peer.count("GetTask") == 1
    return found


# --- What comes back ------------------------------------------------------------------


def test_a_result_is_accepted(peer: Peer) -> None:
    assert answered(peer, scripts.result(TASK)) == Accepted(result=TASK)


def test_what_nobody_knows_in_a_result_is_left_to_the_reader(peer: Peer) -> None:
    """C4."""
    odd = agents.task("THINKING", invented={"x": 1}, artifacts=[{"parts": [{"y": 2}]}])

    assert answered(peer, scripts.result(odd)) == Accepted(result=odd)


REFUSALS: dict[str, tuple[Script, str]] = {
    "redirect": (scripts.redirect("http://127.0.0.1:9/"), "http_307"),
    "moved": (scripts.redirect("https://other.example/", 301), "http_301"),
    "no credential": (scripts.http(401, b'{"detail": "who are you"}'), "http_401"),
    "not found": (scripts.http(404, b'{"detail": "x"}'), "http_404"),
    "no such method of HTTP": (scripts.http(405), "http_405"),
    "too many": (scripts.http(429), "http_429"),
    "refusal at 200": (scripts.error(-32001), "rpc-32001"),
    "refusal at 401": (scripts.error(-32602, status=401), "rpc-32602"),
    "no credential of JSON-RPC": (scripts.error(-32600, status=401), "http_401"),
    "refusal at 500": (scripts.error(-32602, status=500), "rpc-32602"),
    "refusal without an id": (scripts.error(-32700, id=None), "rpc-32700"),
    "busy": (scripts.error(-32603, status=503), "rpc-32603"),
    "too many of JSON-RPC": (scripts.error(-32603, status=429), "rpc-32603"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_is_one(peer: Peer, name: str) -> None:
    """C7, B109."""
    script, code = REFUSALS[name]

    found = answered(peer, script)

    assert isinstance(found, NotAccepted)
    assert found.code == code


UNKNOWN: dict[str, tuple[Script, str]] = {
    "login page": (scripts.html(), "unreadable"),
    "nothing": (scripts.http(200), "unreadable"),
    "no content": (scripts.http(204), "unreadable"),
    "null": (scripts.http(200, b"null", scripts.JSON), "unreadable"),
    "another id": (scripts.result(TASK, id="other"), "unreadable"),
    "no id": (scripts.result(TASK, id=None), "unreadable"),
    "both": (scripts.result(TASK, error={"code": 1}), "unreadable"),
    "no object": (scripts.result(TASK, result=[]), "unreadable"),
    "result at 500": (scripts.result(TASK, 500), "http_500"),
    "page of a gateway": (scripts.html(502), "http_502"),
    "unavailable": (scripts.unavailable(), "http_503"),
    "request time-out": (scripts.http(408), "http_408"),
    "internal": (scripts.error(-32603), "rpc-32603"),
    "internal at 500": (scripts.error(-32603, status=500), "rpc-32603"),
    "private": (scripts.error(-32042), "rpc-32042"),
    "positive": (scripts.error(7), "rpc7"),
    "reset": (scripts.reset, "broken_off"),
    "hang up": (scripts.hang_up, "broken_off"),
    "half": (scripts.half(), "broken_off"),
    "bomb": (scripts.gzip_bomb(), "body_too_large"),
    "endless": (scripts.endless, "body_too_large"),
    "damaged": (scripts.gzipped(b"{}" * 99, damaged=True), "encoding"),
    "encoding": (scripts.http(200, b"{}", {"Content-Encoding": "br"}), "encoding"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_neither_is_unknown_and_not_sent_again(peer: Peer, name: str) -> None:
    """C4, C7, B109."""
    script, code = UNKNOWN[name]

    found = answered(peer, script)

    assert isinstance(found, Unknown)
    assert found.code == code


@pytest.mark.parametrize(
    "script", [scripts.silence, scripts.drip, scripts.dripping_head]
)
def test_the_seconds_bound_the_whole_request(peer: Peer, script: Script) -> None:
    """B116."""
    began = time.monotonic()

    found = answered(peer, script, seconds=0.4)

    assert isinstance(found, Unknown)
    assert found.code == "deadline"
    assert time.monotonic() - began < 5


def test_without_seconds_the_time_out_of_the_agent_counts(peer: Peer) -> None:
    peer.on("GetTask", scripts.silence)

    found = ask(factories.make_remote_agent(peer.url, timeout_seconds=1))

    assert isinstance(found, Unknown)
    assert "1 second" in found.sentence


def test_nothing_left_where_nobody_listens(loopback: None) -> None:
    """C7."""
    with Peer() as peer:
        url = peer.url

    found = ask(factories.make_remote_agent(url))

    assert isinstance(found, NotAccepted)
    assert found.code == "connect_failed"


def test_nothing_left_where_the_guard_refuses(peer: Peer, settings: Any) -> None:
    settings.A2A_EGRESS_ALLOW_LOOPBACK = False

    found = ask(factories.make_remote_agent(peer.url))

    assert isinstance(found, NotAccepted)
    assert not peer.connections


def test_the_target_of_a_redirect_is_not_touched(peer: Peer, loopback: None) -> None:
    """E6."""
    with Peer() as other:
        answered(peer, scripts.redirect(other.url))

    assert not other.connections


def test_a_wait_that_the_agent_asks_for_is_given_along(peer: Peer) -> None:
    assert answered(peer, scripts.unavailable("7")).retry_after == 7


# --- Beside it ------------------------------------------------------------------------


def test_what_is_unusual_is_logged_once(
    peer: Peer, caplog: pytest.LogCaptureFixture
) -> None:
    answered(peer, scripts.error(-32603, SECRET))

    (record,) = [r for r in caplog.records if r.levelno >= logging.WARNING]
    facts = vars(record)
    assert record.message == "remote request unknown"
    assert (facts["host"], facts["code"]) == ("127.0.0.1", "rpc-32603")
    assert (facts["method"], facts["run"]) == ("GetTask", str(RUN))
    assert SECRET not in str(facts)


def test_what_is_as_usual_is_not_logged(
    peer: Peer, caplog: pytest.LogCaptureFixture
) -> None:
    answered(peer, scripts.result(TASK))

    assert not [r for r in caplog.records if r.name.startswith("a2a_client")]


@pytest.mark.parametrize("script", [scripts.result(TASK), scripts.html(502)])
def test_an_answer_is_a_contact(peer: Peer, script: Script) -> None:
    answered(peer, script)

    agent = RemoteAgent.objects.get()
    assert agent.last_contact_at
    assert clock.database_now() - agent.last_contact_at < timedelta(seconds=20)


def test_a_connection_without_an_answer_is_none(peer: Peer) -> None:
    answered(peer, scripts.hang_up)

    assert RemoteAgent.objects.get().last_contact_at is None


@pytest.mark.parametrize("status", [200, 401])
def test_an_answer_counts_more_than_what_is_noted_of_it(
    peer: Peer, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    peer.on("GetTask", scripts.error(-32001, status=status))
    agent = factories.make_remote_agent(peer.url)

    def away(*_: object) -> None:
        raise DatabaseError

    with connection.execute_wrapper(away):
        found = ask(agent)

    assert isinstance(found, NotAccepted)
    assert "remote answer not noted" in caplog.messages


def test_an_agent_may_be_silent_as_long_as_a_request_may_last() -> None:
    """B116 (e): the limit of silence is for streams."""
    limits = transport._whole_request(120)

    assert (limits.total_seconds, limits.idle_seconds) == (120, 120)


def test_no_time_is_no_time(peer: Peer) -> None:
    found = ask(factories.make_remote_agent(peer.url), seconds=0)

    assert not isinstance(found, Accepted)
    assert found.code == "deadline"


def test_a_token_endpoint_holds_up_a_request_no_longer_than_its_agent(
    peer: Peer,
) -> None:
    """A round of polls ends, however many calls wait for one token."""
    peer.on("POST /token", scripts.silence)
    agent = factories.make_remote_agent(
        peer.url,
        credential_kind=CredentialKind.OAUTH2,
        credential_name="client id",
        token_url=peer.token_url,
        secret=SECRET,
        timeout_seconds=30,
    )
    began = time.monotonic()

    found = ask(agent, seconds=0.5)

    assert isinstance(found, NotAccepted)
    assert found.code == "token"
    assert time.monotonic() - began < 10
    assert peer.count("GetTask") == 0
