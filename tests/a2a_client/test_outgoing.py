from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from asgiref.sync import async_to_sync

from a2a_client import transport
from a2a_client.audit import Audit
from a2a_client.models import CredentialKind
from a2a_client.replies import NotAccepted, Unknown
from a2a_protocol import types
from a2a_protocol.cards import PROFILE_EXTENSION_URI
from tests import factories
from tests.a2a_client import agents, scripts

if TYPE_CHECKING:
    from a2a_client.models import RemoteAgent
    from a2a_client.replies import Judgement
    from tests.a2a_client.peer import Exchange, Peer

pytestmark = pytest.mark.django_db

AUDIT = Audit(purpose="test")
GET = types.GetTaskRequest(id="R1")
SECRET = "s3cret-of-the-agent"


def ask(agent: RemoteAgent) -> Judgement:
    return async_to_sync(transport.send)(agent, "GetTask", GET, audit=AUDIT)


def card(*extensions: dict[str, Any]) -> str:
    return json.dumps({"capabilities": {"extensions": extensions}})


def test_a_request_says_what_it_is(peer: Peer) -> None:
    """C3."""
    ask(factories.make_remote_agent(peer.url))

    (received,) = peer.received
    assert (received.verb, received.path) == ("POST", "/rpc")
    assert received.headers["a2a-version"] == "1.0"
    assert received.headers["content-type"] == "application/json"
    assert received.headers["accept"] == "application/json"
    assert received.headers["user-agent"] == "a2a-gateway"
    assert "authorization" not in received.headers
    assert "a2a-extensions" not in received.headers
    assert received.params == {"id": "R1"}


def test_ids_of_requests_are_unique(peer: Peer) -> None:
    """B112."""
    agent = factories.make_remote_agent(peer.url)

    for _ in range(3):
        ask(agent)

    assert len({received.id for received in peer.received}) == 3


def test_the_interface_decides_the_tenant(peer: Peer) -> None:
    agent = factories.make_remote_agent(peer.url, interface_tenant="acme")

    ask(agent)

    assert peer.received[0].params["tenant"] == "acme"


@pytest.mark.parametrize("is_required", [True, False])
def test_our_own_extension_is_named_where_the_card_has_it(
    peer: Peer, is_required: bool
) -> None:
    other = {"uri": "https://other.example/x"}
    ours = {"uri": PROFILE_EXTENSION_URI, "required": is_required}
    agent = factories.make_remote_agent(peer.url, card=card(other, ours))

    ask(agent)

    assert peer.received[0].headers["a2a-extensions"] == PROFILE_EXTENSION_URI


def test_an_extension_that_is_required_and_unknown_lets_nothing_leave(
    peer: Peer,
) -> None:
    needed = {"uri": "https://other.example/x", "required": True}
    agent = factories.make_remote_agent(peer.url, card=card(needed))

    found = ask(agent)

    assert found == NotAccepted(
        code="extension",
        sentence="The agent needs the extension «https://other.example/x», which is not "
        "known here.",
    )
    assert not peer.connections


@pytest.mark.parametrize(
    ("wrong", "detail"),
    [
        ({"interface_url": ""}, "It has no interface to use"),
        ({"confirmed_origin": "https://agent.example"}, "Nobody has confirmed"),
        (
            {"credential_kind": CredentialKind.BEARER},
            "Its credential has to be entered",
        ),
    ],
)
def test_an_agent_that_is_not_set_up_is_not_asked(
    peer: Peer, wrong: dict[str, Any], detail: str
) -> None:
    """C2, C3."""
    agent = factories.make_remote_agent(peer.url, **wrong)

    found = ask(agent)

    assert isinstance(found, NotAccepted)
    assert found.code == "not_set_up"
    assert found.detail.startswith(detail)
    assert not peer.connections


def test_an_interface_that_is_not_spoken_is_not_asked(peer: Peer) -> None:
    agent = factories.make_remote_agent(peer.url, interface_binding="GRPC")

    found = ask(agent)

    assert isinstance(found, NotAccepted)
    assert found.code == "not_spoken"
    assert not peer.connections


def test_a_credential_that_is_quoted_is_not_shown(peer: Peer) -> None:
    def quoting(exchange: Exchange) -> Any:
        told = exchange.received.headers["authorization"].encode()
        headers = {"Content-Type": f"text/{SECRET}"}
        return scripts.http(500, told, headers)(exchange)

    peer.on("GetTask", quoting)
    agent = factories.make_remote_agent(
        peer.url, credential_kind=CredentialKind.BEARER, secret=SECRET
    )

    found = ask(agent)

    assert peer.received[0].headers["authorization"] == f"Bearer {SECRET}"
    assert isinstance(found, Unknown)
    assert "Bearer (credential)" in found.detail
    assert SECRET not in repr(found)


def test_a_credential_that_an_event_quotes_is_not_shown(peer: Peer) -> None:
    said = {"task": agents.task(say=f"You sent {SECRET}.")}
    peer.on("GetTask", scripts.events(said))
    agent = factories.make_remote_agent(
        peer.url, credential_kind=CredentialKind.BEARER, secret=SECRET
    )

    async def first() -> Any:
        async with transport.stream(agent, "GetTask", GET, audit=AUDIT) as stream:
            return (await anext(stream)).result

    assert "You sent (credential)." in str(async_to_sync(first)())
